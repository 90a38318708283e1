# a transport that does not exist
host "web" {
  command = ["web"]
  transport = "tcp"
}
