# what a job is not
host "ends" {
  kind    = "job"
  command = ["ends"]
  restart {
    policy = "always"
  }
  healthy {
    tcp = "127.0.0.1:1"
  }
  unresponsive {
    after = "1s"
  }
}

host "other" {
  kind    = "jobs"
  command = ["other"]
}
