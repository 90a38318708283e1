# one exit code, not in a list
host "web" {
  command = ["web"]
  restart {
    success_exit = 3
  }
}
