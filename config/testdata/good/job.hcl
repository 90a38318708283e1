# a job before a service
group "shop" {
  host "migrate" {
    kind    = "job"
    command = ["migrate"]
  }

  host "talks" {
    kind     = "job"
    command  = ["talks"]
    protocol = "jsonrpc-lines"
    start {
      eager = false
    }
  }

  host "web" {
    command  = ["web"]
    protocol = "none"
    start {
      depends_on = ["migrate"]
    }
  }
}
