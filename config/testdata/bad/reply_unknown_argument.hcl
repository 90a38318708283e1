# a block that is planned: reply
host "web" {
  command = ["web"]
  reply "workspace/configuration" {
    anything = "goes"
  }
}
