# signals that do not exist
host "web" {
  command = ["web"]
  stop {
    signal = "SIGTERMINATE"
  }
}
