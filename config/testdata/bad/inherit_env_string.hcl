# one name, not in a list
host "web" {
  command = ["web"]
  inherit_env = "PATH"
}
