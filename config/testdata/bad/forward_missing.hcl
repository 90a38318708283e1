# a forward of nothing
host "web" {
  command = ["web"]
  forward {
    anything = "goes"
  }
}
