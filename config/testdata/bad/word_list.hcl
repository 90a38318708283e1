# a list where a word belongs
host "web" {
  command = ["web"]
  restart {
    policy = ["never"]
  }
}
