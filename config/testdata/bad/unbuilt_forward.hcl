# a block that is planned: forward
host "web" {
  command = ["web"]
  forward {
    anything = "goes"
  }
}
