# a duration with a space
host "web" {
  command = ["web"]
  restart {
    window = "5 m"
  }
}
