# a name for a block that has none
host "web" {
  command = ["web"]
  stop "fast" {
    grace = "1s"
  }
}
