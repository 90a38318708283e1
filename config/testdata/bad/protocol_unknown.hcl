# a protocol that does not exist
host "web" {
  command = ["web"]
  protocol = "grpc"
}
