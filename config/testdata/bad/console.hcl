host "a" {
  command = ["/bin/a"]
}

supervisor {
  console {
    listen  = "0.0.0.0:7777"
    names   = "ops"
    origins = ["https://ops.example", "ops.example", "https://ops.example/page"]
    token "a" {
      role = "admin"
      file = "/etc/a"
    }
    token "a" {
      role = "read"
      file = "/etc/a"
    }
    token "b b" {
      role   = "read"
      file   = "/etc/b"
      secret = "b"
    }
    token "c" {
      role = "read"
    }
    token "d" {
      file = "/etc/d"
    }
    token "e" {
      role   = "full"
      secret = "no such/name"
    }
  }
}
