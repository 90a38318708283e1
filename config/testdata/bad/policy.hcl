# a policy that does not exist
host "web" {
  command = ["web"]
  restart {
    policy = "always_restart"
  }
}
