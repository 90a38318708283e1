# an argument written twice
host "web" {
  command = ["web"]
  command = ["other"]
}
