# a boolean in quotes
host "web" {
  command = ["web"]
  start {
    eager = "true"
  }
}
