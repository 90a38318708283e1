# a block that is planned: console
supervisor {
  console { listen = "127.0.0.1:7777" }
}

host "web" {
  command = ["web"]
}
