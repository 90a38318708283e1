variable "n" { default = 2 }

host "one" {
  instances = 1
  command   = ["/bin/true", each.key]
}

group "g" {
  host "two" {
    instances = var.n
    command   = ["/bin/true"]
    env       = { N = "${each.value + 10}" }
  }
  host "user" {
    command = ["/bin/true"]
    start { depends_on = ["two-1", "two-2"] }
  }
}

host "none" {
  instances = 0
  command   = ["/bin/true"]
}
