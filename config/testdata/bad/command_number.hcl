# an argument that is no string
host "web" {
  command = ["web", "--port", 80, true, null]
}
