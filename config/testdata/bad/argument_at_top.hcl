# an argument outside any block
command = ["web"]

host "web" {
  command = ["web"]
}
