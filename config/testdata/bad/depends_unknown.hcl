# a dependency that does not exist
group "a" {
  host "database" {
    command = ["db"]
  }

  host "web" {
    command = ["web"]
    start {
      depends_on = ["databse"]
    }
  }

  host "job" {
    command = ["job"]
    start {
      depends_on = ["queue"]
    }
  }
}
