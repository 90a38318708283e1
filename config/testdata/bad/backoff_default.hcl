# a first wait longer than the default of the longest
host "web" {
  command = ["web"]
  restart {
    backoff {
      initial = "1m"
    }
  }
}
