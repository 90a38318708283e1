# a list where a map belongs
host "web" {
  command = ["web"]
  env = ["A=1"]
}
