# a folder without a name
host "web" {
  command = ["web"]
  dir = ""
}
