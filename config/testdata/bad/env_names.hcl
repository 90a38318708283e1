# names that no variable can have, or that hostsup sets
host "web" {
  command = ["web"]
  env = {
    "A=B"             = "1"
    ""                = "2"
    "MY VAR"          = "3"
    HOSTSUP_HOST_FD   = "4"
  }
  inherit_env = ["HOSTSUP_SOCKET", "PATH", "PATH"]
}
