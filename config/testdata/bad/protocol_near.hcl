# a protocol with a slip
host "web" {
  command = ["web"]
  protocol = "hostup"
}
