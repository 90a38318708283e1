host "a" {
  command = ["/bin/a"]
}

supervisor {
  console {
    listen = "ops.example:7777"
    tls {
      cert = "/etc/cert.pem"
    }
  }
}
