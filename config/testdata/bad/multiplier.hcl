# a back-off that gets shorter
host "web" {
  command = ["web"]
  restart {
    backoff {
      multiplier = 0.5
    }
  }
}
