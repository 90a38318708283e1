variable "region" { default = "eu" }

template "github" {
  vars          = ["token", "team"]
  max_instances = 3
  idle_stop     = "2m"
  command       = ["mcp-server", "--user", key, "--region=${var.region}"]
  protocol      = "jsonrpc-lines"
  dir           = "/srv/${key_name}"
  env = {
    GITHUB_TOKEN = var.token
    HOME         = "/srv/${key_name}/home"
    BOTH         = "${secret("shared")}-${var.team}"
  }
  attach {
    isolate = true
  }
  sandbox {
    profile = "mcp-server"
    write   = ["/srv/${key_name}"]
  }
}

template "remote" {
  vars = ["token"]
  url  = "https://mcp.example/mcp"
  remote {
    token   = var.token
    headers = { X-User = key }
  }
  idle_stop = "never"
}

template "plain" {
  command  = ["sleep", "1"]
  protocol = "none"
}
