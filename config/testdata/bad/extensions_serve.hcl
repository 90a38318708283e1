# what can be wrong with extensions that are served
host "twice" {
  command  = ["node", "/opt/code/out/bootstrap-fork.js", "--type=extensionHost"]
  protocol = "vscode"
  extensions {
    user = ["/srv/extensions"]
    serve "dap" {}
    serve "mcp" {
      commands = "git.*"
      resources = []
    }
    serve "mcp" {}
  }
}

host "unserved" {
  command  = ["node", "/opt/code/out/bootstrap-fork.js", "--type=extensionHost"]
  protocol = "vscode"
  extensions {
    user = ["/srv/extensions"]
  }
}

host "app" {
  command = ["app"]
  extensions {
    serve "mcp" {}
  }
}

serve "mcp" {
  listen = "127.0.0.1:7780"
  hosts  = ["unserved", "app"]
}

host "both" {
  command  = ["node", "/opt/code/out/bootstrap-fork.js", "--type=extensionHost"]
  protocol = "vscode"
  extensions {
    user = ["/srv/extensions"]
    serve "lsp" {
      tools = ["*"]
    }
    serve "mcp" {}
    serve "lsp" {}
  }
}
