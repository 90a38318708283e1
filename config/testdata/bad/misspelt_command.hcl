# the command is misspelt: one mistake, not two
host "web" {
  comand = ["web"]
}
