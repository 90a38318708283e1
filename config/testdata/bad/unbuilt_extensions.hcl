# a block that is planned: extensions
host "web" {
  command = ["web"]
  extensions {
    anything = "goes"
  }
}
