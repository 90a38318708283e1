# a command that is null
host "web" {
  command = null
}
