# a size beyond all numbers
host "web" {
  command = ["web"]
  log {
    max_size = "99999999999999999999GiB"
  }
}
