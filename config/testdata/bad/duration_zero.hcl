# durations of nothing and less
host "web" {
  command = ["web"]
  stop {
    grace = "0s"
  }
  requests {
    timeout = "-1s"
  }
}
