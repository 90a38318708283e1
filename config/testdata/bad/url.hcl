# servers elsewhere: what a url goes with
host "both" {
  command = ["x"]
  url     = "https://mcp.example/mcp"
}

host "scheme" {
  url = "ftp://mcp.example/mcp"
}

host "user" {
  url = "https://me:secret@mcp.example/mcp"
}

host "protocol" {
  protocol = "jsonrpc-headers"
  url      = "https://mcp.example/mcp"
}

host "plain" {
  url = "http://mcp.example/mcp"
}

host "none" {
  remote {
    token = "x"
  }
}

host "job" {
  kind = "job"
  url  = "https://mcp.example/mcp"
}

host "settings" {
  url       = "https://mcp.example/mcp"
  transport = "fd"
  remote {
    token           = ""
    headers         = { "X Y" = secret("a"), "B:" = "c" }
    key             = "/etc/key.pem"
    connect_timeout = 3
  }
}

host "twice" {
  url = "https://mcp.example/#a"
  remote {
    headers = { X = secret("a", "b") }
  }
}

host "closed" {
  url = "https://mcp.example/mcp"
  sandbox {
    profile = "mcp-server"
    network = "none"
  }
}
