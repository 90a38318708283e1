# what is allowed but probably not meant
group "empty" {
}

group "data" {
  host "web" {
    command = ["/opt/missing/web"]
    dir     = "missing"
    start {
      depends_on = ["db"]
    }
  }

  host "db" {
    command = ["db"]
    start {
      eager = false
    }
  }
}
