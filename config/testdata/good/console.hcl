host "a" {
  command = ["/bin/a"]
}

supervisor {
  console {
    listen  = "0.0.0.0:7777"
    names   = ["ops.example"]
    origins = ["https://ops.example:8443"]
    tls {
      cert      = "cert.pem"
      key       = "/etc/missing/key.pem"
      client_ca = "ca.pem"
    }
    token "oncall" {
      role = "operate"
      file = "oncall.token"
    }
    token "prometheus" {
      role   = "read"
      secret = "prometheus"
    }
  }
}
