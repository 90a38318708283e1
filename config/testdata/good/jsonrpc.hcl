host "lsp" {
  command  = ["lsp", "--stdio"]
  protocol = "jsonrpc-headers"
  attach   = true
  unresponsive {
    method     = "$/alive"
    kill_after = "1m"
  }
}

host "mcp" {
  command      = ["mcp"]
  protocol     = "jsonrpc-lines"
  stdout_noise = "fail"
  init         = { clientInfo = { name = "me", version = "1" } }
}

host "walls" {
  command  = ["mcp-server"]
  protocol = "jsonrpc-lines"
  attach {
    isolate = true
    notify  = false
  }
}
