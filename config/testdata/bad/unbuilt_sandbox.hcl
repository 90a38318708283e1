# a block that is planned: sandbox
host "web" {
  command = ["web"]
  sandbox {
    anything = "goes"
  }
}
