# two blocks of a kind of which there is one
host "web" {
  command = ["web"]
  stop {
    grace = "1s"
  }
  stop {
    signal = "INT"
  }
}
