# a block that is planned: limits
host "web" {
  command = ["web"]
  limits {
    anything = "goes"
  }
}
