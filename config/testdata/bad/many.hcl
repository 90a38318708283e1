# many mistakes at once, reported in the order of the file
supervisor {
  on_failed = "explode"
  sockt     = "/run/x.sock"
}

group "editor" {
  strategy = "all_for_one"

  host "db" {
    command = "db --fast"
    stop {
      signal = "SIGTREM"
      grace  = "5 s"
    }
  }

  host "ts" {
    command  = ["node", "host.js"]
    protocol = "vscode"
    env      = { PORT = 80 }
    start {
      depends_on = ["dbb"]
    }
    sandbox {
      profile = "node"
    }
  }
}
