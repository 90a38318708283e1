# an argument that does not exist, near one that does
host "web" {
  command = ["web"]
  comand_line = "x"
  dirr = "/srv"
}
