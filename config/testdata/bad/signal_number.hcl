# a number that no signal has
host "web" {
  command = ["web"]
  stop {
    signal = 0
  }
}
