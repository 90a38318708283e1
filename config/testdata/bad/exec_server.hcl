exec_server "a" {
  listen = "tcp://127.0.0.1:80"
  ping   = 5
}
exec_server "b" {
  listen = "ws://0.0.0.0:8080"
}
exec_server "c" {
  listen = "stdio"
}
exec_server "d" {
  listen = "unix:///run/x.sock"
  auth {
    token_file = "/etc/token"
  }
}
exec_server "e" {
  auth {
    token_sha256 = "abc"
  }
}
exec_server "f" {
  auth {
    issuer = "me"
  }
}
exec_server "g" {
  auth {
    token_file         = "/etc/token"
    shared_secret_file = "/etc/secret"
  }
}
exec_server "h" {
  sandbox {
    observe = "auto"
    write   = ["relative/../../x", "/proc"]
  }
  limits {
    memory = "1KiB"
  }
  restart {
    backoff {
      initial = "1m"
    }
  }
  retention {
    bytes  = "1MB"
    closed = "never"
  }
}
exec_server "web" {}
exec_server "x" "y" {}
exec_server {}
exec_server "exec-server" {}

host "web" {
  command = ["web"]
}
