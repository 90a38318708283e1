# a share beyond the whole
host "web" {
  command = ["web"]
  restart {
    backoff {
      jitter = 1.5
    }
  }
}
