# an argument written like a block
host "web" {
  command = ["web"]
  env {
    A = "1"
  }
}
