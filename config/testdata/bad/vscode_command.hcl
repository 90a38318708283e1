# extension hosts of VS Code without the program of one, and with what they have not
host "web" {
  command  = ["web"]
  protocol = "vscode"
}

host "code" {
  command   = ["node", "/opt/code/out/bootstrap-fork.js", "--type=extensionHost"]
  protocol  = "vscode"
  transport = "stdio"
  unresponsive {
    method = "ping"
  }
}
