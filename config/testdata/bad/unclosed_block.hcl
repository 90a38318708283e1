# a block that is never closed
host "web" {
  command = ["web"]
