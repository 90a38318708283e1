# a size without a unit
host "web" {
  command = ["web"]
  log {
    max_size = 1048576
  }
}
