# what a host may ask for
host "web" {
  command         = ["web"]
  permissions     = ["fileSystem.read", "filesystem.write", 3]
  rate_limit      = "fast"
  workspace_roots = ["work", "/there"]
  verify {
    sha256 = ["abc"]
  }
}

host "none" {
  command = ["none"]
  verify {
    sha256 = []
  }
}
