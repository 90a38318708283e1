# a local value in two blocks, and a block among them
locals {
  a = 1
}

locals {
  a = 2
  sub {
    b = 1
  }
}

host "web" {
  command = ["web"]
}
