# settings of calls for a host that is never called
host "web" {
  command = ["web"]
  protocol  = "none"
  transport = "stdio"
  init      = { a = 1 }

  start {
    timeout = "5s"
  }
  unresponsive {
    after = "1s"
  }
  requests {
    timeout = "1s"
  }
  messages {
    max_size = "1MiB"
  }
}
