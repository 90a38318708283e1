# a number where true or false belongs
host "web" {
  command = ["web"]
  start {
    eager = 0
  }
}
