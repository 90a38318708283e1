# numbers in quotes
host "web" {
  command = ["web"]
  restart {
    max_crashes = "3"
    backoff {
      multiplier = "twice"
    }
  }
}
