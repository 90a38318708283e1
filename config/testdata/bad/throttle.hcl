# what throttle blocks can get wrong
host "web" {
  command = ["web"]
  throttle {
    every = "16ms"
  }
  throttle "cursor" {
    every = "16ms"
    key   = "uri"
  }
  throttle "cursor" {
    every = "1s"
  }
  throttle "zero" {
    every = "0s"
  }
  throttle "below" {
    every = "-5ms"
  }
  throttle "number" {
    every = 16
  }
  throttle "path" {
    every = "16ms"
    key   = "a..b"
  }
  throttle "spaced" {
    every = "16ms"
    key   = "a b"
  }
  throttle "empty" {
    every = "16ms"
    key   = ""
  }
  throttle "endless" {
    key = "uri"
  }
  throttle "misspelt" {
    evry = "16ms"
  }
  throttle "" {
    every = "16ms"
  }
  throttle "two" "names" {
    every = "16ms"
  }
  throttle = "16ms"
}

host "quiet" {
  command  = ["web"]
  protocol = "none"
  throttle "cursor" {
    every = "16ms"
  }
}

host "editor" {
  command  = ["node", "/opt/vscode/out/bootstrap-fork.js", "--type=extensionHost"]
  protocol = "vscode"
  throttle "ExtHostDocuments.$acceptModelChanged" {
    every = "16ms"
  }
}

host "notebooks" {
  command  = ["server"]
  protocol = "jsonrpc-headers"
  throttle "notebookDocument/didChange" {
    every = "16ms"
  }
}
