# how hosts are checked from outside
host "web" {
  command  = ["web"]
  protocol = "none"
  start {
    timeout = "20s"
  }
  unresponsive {
    kill_after = "never"
  }
  healthy {
    http         = "http://127.0.0.1:8080/healthz"
    expect       = "ok"
    interval     = "5s"
    timeout      = "1s"
    threshold    = 2
    start_period = "30s"
  }
}

host "db" {
  command  = ["db"]
  protocol = "none"
  healthy {
    exec = ["./check", "db"]
  }
}

host "lsp" {
  command  = ["lsp"]
  protocol = "jsonrpc-headers"
  healthy {
    call = "health"
  }
}
