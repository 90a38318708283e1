# characters that a terminal would obey
host "web" {
  command = [[31m"web"]
}
