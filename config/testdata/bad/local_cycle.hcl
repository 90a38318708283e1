# local values that need each other
locals {
  a = "${local.b}x"
  b = local.c
  c = local.a
  d = local.d
}

host "web" {
  command = ["web", local.a]
}
