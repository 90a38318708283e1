variable "langs" { default = ["go", "rust"] }

group "editor" {
  host "db" {
    command = ["/bin/db"]
  }
  host "ls" {
    for_each = var.langs
    command  = ["/bin/ls-${each.key}"]
    env      = { LANGUAGE = each.value, TOKEN = secret("token-${each.key}") }
    start {
      depends_on = ["db"]
    }
  }
  host "after" {
    command = ["/bin/after"]
    start {
      depends_on = [for l in var.langs : "ls-${l}"]
    }
  }
}

host "web" {
  for_each = { a = { port = 8001 }, b = { port = 8002 } }
  command  = ["/bin/web", "--port=${each.value.port}"]
}

host "shard" {
  for_each = [1, 2]
  command  = ["/bin/shard", "-n${each.value + 1}"]
}

host "none" {
  for_each = []
  command  = ["/bin/none"]
}
