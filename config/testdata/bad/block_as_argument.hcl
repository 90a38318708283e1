# a block written like an argument
host "web" {
  command = ["web"]
  restart = { policy = "never" }
}
