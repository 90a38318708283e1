# a host that depends on itself
group "a" {
  host "web" {
    command = ["web"]
    start {
      depends_on = ["web"]
    }
  }
}
