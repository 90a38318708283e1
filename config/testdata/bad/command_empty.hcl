# a command without anything
host "web" {
  command = []
}

host "blank" {
  command = ["", "x"]
}
