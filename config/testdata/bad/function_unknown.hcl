# a function that does not exist
host "web" {
  command = ["web", uper("x")]
}
