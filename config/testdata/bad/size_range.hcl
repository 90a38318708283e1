# sizes that are too small and too large
host "web" {
  command = ["web"]
  log {
    max_size = "0KiB"
  }
  messages {
    max_size = "4GiB"
  }
}
