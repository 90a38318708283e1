# a longest wait shorter than the first
host "web" {
  command = ["web"]
  restart {
    backoff {
      initial = "1m"
      max     = "10s"
    }
  }
}
