# levels and formats that do not exist
supervisor {
  log {
    level  = "warning"
    format = "yaml"
  }
}

host "web" {
  command = ["web"]
}
