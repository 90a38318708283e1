# a block that does not exist, near one that does
host "web" {
  command = ["web"]
  restrat {
    policy = "never"
  }
}
