# a dependency written as a string, and one written twice
group "a" {
  host "db" {
    command = ["db"]
  }

  host "web" {
    command = ["web"]
    start {
      depends_on = "db"
    }
  }

  host "job" {
    command = ["job"]
    start {
      depends_on = ["db", "db"]
    }
  }
}
