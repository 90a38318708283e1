# a host that comes to a socket of ours cannot do so from a sandbox
host "ds" {
  command  = ["ds-host"]
  protocol = "dscode"
  sandbox {
    profile = "node"
  }
}
