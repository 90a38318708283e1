# counts that make no sense
host "web" {
  command = ["web"]
  restart {
    max_crashes = 0
  }
  requests {
    max_pending = -1
  }
  log {
    files = 1.5
  }
}
