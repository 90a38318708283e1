# a signal with a slip
host "web" {
  command = ["web"]
  stop {
    signal = "TREM"
  }
}
