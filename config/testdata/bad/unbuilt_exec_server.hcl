# a block that is planned: exec_server
exec_server {
  listen = "ws://127.0.0.1:0"
}

host "web" {
  command = ["web"]
}
