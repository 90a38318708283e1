# a number that no host could read
host "web" {
  command = ["web"]
  init = { n = 1e300 * 1e300 }
}
