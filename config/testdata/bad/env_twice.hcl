# a variable that is set twice in one map
host "web" {
  command = ["web"]
  env = {
    A = "1"
    B = "2"
    A = "3"
  }
}
