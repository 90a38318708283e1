# a word that does not exist
host "web" {
  command = ["web"]
  start {
    on_timeout = "kill"
  }
}
