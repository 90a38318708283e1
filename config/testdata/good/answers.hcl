host "web" {
  command = ["./web"]

  requests {
    timeout      = "5m"
    idle_timeout = "20s"
  }

  reply "workspace/configuration" {
    result = [{ a = 1 }, null]
  }
  reply "window/*" {}
  reply "refused" {
    error = { name = "Refused", message = "not here", code = -7 }
  }
  forward "db/*" {
    to = "db"
  }
}

host "db" {
  command = ["./db"]
}
