# an extension host of VS Code; its build is where its program is
host "code" {
  command  = ["node", "lib/vscode/out/bootstrap-fork.js", "--type=extensionHost"]
  protocol = "vscode"
  dir      = "/opt/code"
  init     = { logLevel = 2 }
  stop {
    grace = "12s"
  }
}
