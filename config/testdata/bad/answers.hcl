host "web" {
  command = ["./web"]

  reply "workspace/configuration" {
    result = [{}]
    error  = { message = "no" }
  }
  reply "workspace/configuration" {
  }
  reply "a*b" {
    result = 1
  }
  reply "refused" {
    error = { message = "no", code = "x" }
  }
  reply "silent" {
    error = {}
  }
  reply {
    result = 1
  }
  forward "db/*" {
    to = "dbs"
  }
  forward "none" {
    to = "quiet"
  }
  forward "nowhere" {
  }
}

host "db" {
  command = ["./db"]
}

host "quiet" {
  command  = ["./quiet"]
  protocol = "none"

  reply "x" {
    result = 1
  }
}
