# a name that means nothing
host "web" {
  command = [slef, "demo-host"]
}
