# units of time that Go does not have
host "web" {
  command = ["web"]
  restart {
    window       = "1d"
    retry_failed = "10 minutes"
  }
  stop {
    grace = "5sec"
  }
  requests {
    timeout = "soon"
  }
}
