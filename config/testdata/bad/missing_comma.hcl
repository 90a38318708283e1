# a list without a comma
host "web" {
  command = ["web" "-x"]
}
