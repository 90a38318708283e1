# a path that is too long for a socket
supervisor {
  socket = "/run/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx/hostsup.sock"
}

host "web" {
  command = ["web"]
}
