# a block that is planned: throttle
host "web" {
  command = ["web"]
  throttle {
    anything = "goes"
  }
}
