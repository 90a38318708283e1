# a host without a name
host {
  command = ["web"]
}
