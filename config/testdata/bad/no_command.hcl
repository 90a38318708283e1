# a host without a command
host "web" {
  dir = "/srv"
}
