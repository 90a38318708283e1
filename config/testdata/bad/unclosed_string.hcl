# a string that is never closed
host "web" {
  command = ["web]
}
