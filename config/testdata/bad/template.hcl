variable "region" { default = "eu" }

template "a" {
  vars      = ["token", "region", "token"]
  instances = 2
  command   = ["x", upper(key)]
  dir       = var.token == "" ? "/a" : "/b"
  env       = { (key) = "x", Y = trimspace(var.token) }
  init      = { user = key }
  start {
    eager = true
  }
  attach {
    instances = "root"
  }
  requests {
    max_pending = var.token
  }
}

template "b" {
  env      = { X = var.tokn }
  vars     = "token"
  kind     = "job"
  for_each = ["x"]
  command  = ["x"]
}

template "c" {
  vars    = ["no name"]
  command = ["x"]
}

host "d" {
  command = ["x", key, key_name]
  forward "c" {
    methods = ["x"]
  }
}

group "g" {
  template "e" {
    command = ["x"]
  }
}

host "c" {
  command = ["x"]
}

serve "mcp" {
  listen = "127.0.0.1:7780"
  hosts  = ["f"]
}

template "f" {
  command  = ["x"]
  protocol = "jsonrpc-lines"
}
