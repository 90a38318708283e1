host "plain" {
  command = ["/usr/bin/plain"]
}

host "files" {
  command  = ["/usr/bin/files"]
  protocol = "jsonrpc-lines"
}

serve "lsp" {
  listen = "127.0.0.1:0"
}

serve {
  listen = "127.0.0.1:0"
}

serve "mcp" "a" "b" {
  listen = "127.0.0.1:0"
}

serve "mcp" {
}

serve "mcp" "team" {
  listen = "0.0.0.0:7780"
  hosts  = ["plain", "flies"]
  host   = "files"
  auth {
    required = false
    token "x" {
      file = "/x"
    }
    token "y" {
    }
    token "x" {
      secret = "x"
      role   = "full"
    }
  }
}

serve "mcp" "team" {
  listen            = "0.0.0.0:7780"
  allow_unencrypted = true
  hosts             = []
  auth {
    required = false
  }
}

serve "mcp" "half" {
  listen = "127.0.0.1:99999"
  hosts  = ["files"]
  tls {
    cert = "/cert.pem"
  }
}
