# sizes in other units
host "web" {
  command = ["web"]
  log {
    max_size = "16MB"
  }
  messages {
    max_size   = "50 mib"
    max_string = "lots"
  }
}
