# a word that does not exist, in capitals one that does
host "web" {
  command = ["web"]
  requests {
    while_down = "Queue"
  }
}
