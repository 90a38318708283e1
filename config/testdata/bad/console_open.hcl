host "a" {
  command = ["/bin/a"]
}

supervisor {
  console {
    listen = ":7777"
  }
}
