host "a" {
  command = ["/bin/a"]
}

supervisor {
  traces {
    endpoint = "127.0.0.1:4318"
    headers  = ["x"]
    sample   = 2
  }
}
