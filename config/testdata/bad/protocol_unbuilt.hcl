# a protocol that is planned
host "web" {
  command = ["web"]
  protocol = "vscode"
}
