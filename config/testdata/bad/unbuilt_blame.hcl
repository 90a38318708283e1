# a block that is planned: blame
host "web" {
  command = ["web"]
  blame {
    anything = "goes"
  }
}
