host "web" {
  command         = ["web"]
  protocol        = "dscode"
  permissions     = ["fileSystem.read", "clipboard.write"]
  rate_limit      = "100/s"
  workspace_roots = ["/"]
  verify {
    sha256 = ["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"]
  }
}

host "vim" {
  command     = ["nvim", "--embed", "--headless", "--clean"]
  protocol    = "msgpack-rpc"
  permissions = []
}
