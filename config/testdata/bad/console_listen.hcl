host "a" {
  command = ["/bin/a"]
}

supervisor {
  console {
    names = ["ops.example"]
    token "x" {
      role = "read"
      file = "/etc/x"
      text = "0123456789"
    }
  }
}
