host "files" {
  command  = ["/usr/bin/files"]
  protocol = "jsonrpc-lines"
  attach   = true
}

host "tools" {
  command   = ["/usr/bin/tools"]
  protocol  = "jsonrpc-lines"
  instances = 2
}

serve "mcp" {
  listen = "127.0.0.1:7780"
  hosts  = ["files"]
}

serve "mcp" "team" {
  listen       = "0.0.0.0:7781"
  hosts        = ["files", "tools-1"]
  names        = ["tools.example"]
  origins      = ["https://app.example"]
  max_body     = "1MiB"
  max_sessions = 8
  idle         = "5m"
  auth {
    token "agents" {
      file = "agents.token"
    }
    token "ci" {
      secret = "ci"
    }
  }
  tls {
    cert = "cert.pem"
    key  = "key.pem"
  }
}

serve "mcp" "open" {
  listen = "[::1]:0"
  hosts  = ["files"]
  auth {
    required = false
  }
}
