# an argument with a NUL character
host "web" {
  command = ["web", "a\u0000b"]
}
