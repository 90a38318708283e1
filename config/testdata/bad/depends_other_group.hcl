# dependencies in another group, and on a host outside any
group "a" {
  host "db" {
    command = ["db"]
  }
}

host "cache" {
  command = ["cache"]
}

group "b" {
  host "web" {
    command = ["web"]
    start {
      depends_on = ["db", "cache"]
    }
  }
}
