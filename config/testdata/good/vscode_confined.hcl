# a confined host of VS Code is handed its sockets, and reaches what it cannot do without
host "code" {
  command  = ["node", "/opt/code/out/bootstrap-fork.js", "--type=extensionHost"]
  protocol = "vscode"
  extensions {
    user    = ["/srv/extensions"]
    storage = "/var/lib/code"
  }
  sandbox {
    profile = "node"
    read    = ["/srv/project"]
  }
}
