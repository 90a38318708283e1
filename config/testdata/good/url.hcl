# servers elsewhere
host "plain" {
  url = "http://127.0.0.1:8080/mcp"
}

host "github" {
  protocol = "jsonrpc-lines"
  url      = "https://api.example/mcp"
  attach   = true
  env      = { NO_PROXY = "api.example" }
  remote {
    token             = secret("github")
    headers           = { X-Team = "ops", X-Key = "k ${secret("key")}" }
    ca                = "ca.pem"
    cert              = "cert.pem"
    key               = "key.pem"
    connect_timeout   = "5s"
    idle_timeout      = "1m"
    allow_unencrypted = true
  }
  restart {
    retry_failed = "never"
  }
  unresponsive {
    after = "10s"
    ping  = "2s"
  }
}

host "confined" {
  url = "https://api.example:8443/mcp?a=b"
  remote {
    token = env("TOKEN", "abc")
    ca    = "/etc/ca.pem"
  }
  sandbox {
    profile = "mcp-server"
  }
}
