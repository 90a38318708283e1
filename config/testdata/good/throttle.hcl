# notifications that are thinned out
host "ts" {
  command  = ["typescript-language-server", "--stdio"]
  protocol = "jsonrpc-headers"
  throttle "textDocument/didChange" {
    every = "16ms"
    key   = "uri"
  }
  throttle "workspace/didChangeWatchedFiles" {
    every = "0.5s"
  }
}

host "nvim" {
  command  = ["nvim", "--embed"]
  protocol = "msgpack-rpc"
  throttle "nvim_ui_try_resize" {
    every = "1m"
    key   = "0.width"
  }
}
