# No host is needed beside it.
exec_server {
  listen = "ws://127.0.0.1:4500"
}

exec_server "agents" {
  listen                = "ws://0.0.0.0:8080"
  allow_unauthenticated = false
  env                   = { LANG = "C.UTF-8" }
  inherit_env           = ["PATH", "HOME"]
  max_sessions          = 8
  max_processes         = 100
  max_message           = "1MiB"
  concurrent_requests   = 16
  ping                  = "never"
  pong_wait             = "5s"
  refuse_private_http   = true

  auth {
    token_file = "/etc/hostsup/missing.token"
  }
  retention {
    bytes     = "4MiB"
    budget    = "1GiB"
    when_full = "drop"
    closed    = "10m"
    detached  = "12h"
  }
  restart {
    backoff {
      initial = "1s"
    }
  }
  limits {
    memory = "512MiB"
    tasks  = 64
  }
  sandbox {
    profile = "strict"
    write   = ["/srv/work"]
  }
}

exec_server "signed" {
  inherit_env = []
  auth {
    shared_secret_file = "secret"
    issuer             = "us"
    audience           = "exec"
    max_clock_skew     = "1m"
  }
}
