# an argument that is planned: attach
host "web" {
  command = ["web"]
  attach = true
}
