# a host with two names
host "web" "server" {
  command = ["web"]
}
