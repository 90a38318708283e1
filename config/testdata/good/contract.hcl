# every setting of the contract
supervisor {
  socket    = "/run/hostsup.sock"
  state_dir = "/var/lib/hostsup"
  on_failed = "stay" # stay | exit
  log {
    level  = "info"
    format = "text" # text | json
  }
  console { listen = "127.0.0.1:7777" } # absent: no page
}

group "editor" {
  strategy = "one_for_one" # one_for_one | one_for_all | rest_for_one

  host "db" {
    command = ["/usr/bin/env", "python3", "db.py"]
  }

  host "typescript" {
    command     = ["node", "host.js"] # looked up in the supervisor's PATH
    protocol    = "hostsup"           # hostsup | msgpack-rpc | jsonrpc-headers | jsonrpc-lines | dscode | vscode | none
    transport   = "fd"                # fd | stdio | unix; default: hostsup fd, msgpack-rpc and jsonrpc-* stdio
    dir         = "/srv/ts"
    env         = { NODE_ENV = "production" } # nothing is inherited but what inherit_env names
    inherit_env = ["PATH", "HOME"]

    start {
      eager      = true
      timeout    = "60s"
      on_timeout = "crash" # crash | wait: report it as slow and keep the process (a first npx install)
      depends_on = ["db"]
    }
    restart {
      policy      = "on_crash" # on_crash | always | never
      max_crashes = 3
      window      = "5m"
      retry_failed = "never" # or a duration after which a failed host is tried again by itself
      backoff { # the first restart in a window does not wait
        initial    = "100ms"
        max        = "10s"
        multiplier = 2
        jitter     = 0.2
      }
    }
    unresponsive {
      after      = "3s"
      kill_after = "30s" # "never" only reports, and is the default for jsonrpc-*
      ping       = "1s"
    }
    requests {
      timeout     = "30s"
      max_pending = 1024
      while_down  = "fail" # fail | queue
    }
    stop {
      signal = "SIGTERM"
      grace  = "5s"
    }
    log {
      max_size = "16MiB"
      files    = 4
    }
    limits {
      memory = "512MiB"
      tasks  = 256
      cpu    = 1.5
      files  = 1024
    }
    sandbox {
      profile = "node"
      write   = ["/srv/ts/work"]
      network = "none"
    }
  }
}

host "alone" { # a host outside any group is a group of its own
  command = ["/usr/bin/env", "python3", "host.py"]
}
