# durations without a unit
host "web" {
  command = ["web"]
  start {
    timeout = 60
  }
  stop {
    grace = "5"
  }
}
