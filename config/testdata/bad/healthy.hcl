# checks that cannot be made
host "none" {
  command  = ["none"]
  protocol = "none"
  healthy {
    interval = "1s"
  }
}

host "both" {
  command  = ["both"]
  protocol = "none"
  healthy {
    http = "http://127.0.0.1:8080/healthz"
    tcp  = "127.0.0.1:8080"
  }
}

host "call" {
  command  = ["call"]
  protocol = "none"
  healthy {
    call = "ping"
  }
  unresponsive {
    kill_after = "5s"
    ping       = "1s"
  }
}

host "values" {
  command = ["values"]
  healthy {
    http      = "ftp://127.0.0.1"
    expect    = "ok"
    threshold = 0
  }
}

host "expects" {
  command = ["expects"]
  healthy {
    tcp    = "8080"
    expect = "ok"
  }
}

host "confined" {
  command  = ["confined"]
  protocol = "none"
  healthy {
    tcp = "127.0.0.1:8080"
  }
  sandbox {
    profile = "strict"
  }
}
