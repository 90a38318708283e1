# a command made from a set, which has no order
host "web" {
  command = toset(["web", "-x"])
}
