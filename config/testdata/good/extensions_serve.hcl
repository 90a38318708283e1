# extensions that are served as tools of MCP, also over HTTP, and as a language server
host "code" {
  command  = ["node", "/opt/code/out/bootstrap-fork.js", "--type=extensionHost"]
  protocol = "vscode"
  extensions {
    user = ["/srv/extensions"]
    serve "mcp" {
      commands  = ["git.*", "hello.world"]
      languages = true
    }
    serve "lsp" {
      commands = ["git.*"]
    }
  }
}

serve "mcp" {
  listen = "127.0.0.1:7780"
  hosts  = ["code"]
}
