# a dependency on a whole group
group "data" {
  host "db" {
    command = ["db"]
  }
}

group "b" {
  host "web" {
    command = ["web"]
    start {
      depends_on = ["data"]
    }
  }
}
