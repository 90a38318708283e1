# the ends of what is allowed; null means left out
supervisor {
  socket    = null
  on_failed = "exit"
  log {
    level  = "off"
    format = "json"
  }
}

group "all" {
  strategy = "one_for_all"

  host "0.a_b-C" {
    command     = ["x", "", "ünï©ode"]
    env         = {}
    inherit_env = []
    transport   = "unix"
    dir         = null

    start {
      timeout    = "1ns"
      on_timeout = "wait"
      depends_on = []
    }
    restart {
      policy       = "always"
      max_crashes  = 1
      window       = "1h30m"
      retry_failed = "10m"
      success_exit = [0, 3, 255, "SIGTERM", "int", "HUP"]
      backoff {
        initial    = "1s"
        max        = "1s"
        multiplier = 1
        jitter     = 0
        healthy    = "5s"
      }
    }
    unresponsive {
      kill_after = "never"
    }
    requests {
      max_pending = 1
      while_down  = "queue"
    }
    messages {
      max_size     = "1KiB"
      max_depth    = 8
      max_elements = 64
    }
    stop {
      signal = 2
    }
    log {
      max_size = "1GiB"
      files    = 1
    }
  }

  host "quiet" {
    command  = ["sleep", "inf"]
    protocol = "none"
    start {
      eager      = false
      depends_on = ["0.a_b-C"]
    }
    stop {
      signal = "kill"
    }
  }
}

host "large" {
  command = ["large"]
  messages {
    max_size = "1GiB"
  }
}
