# a division by zero
host "web" {
  command = ["web"]
  restart {
    max_crashes = 1 / 0
  }
}
