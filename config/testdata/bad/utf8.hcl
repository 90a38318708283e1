# text in Latin-1
host "web" {
  command = ["café"]
}
