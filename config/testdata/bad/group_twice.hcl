# two groups of one name
group "a" {
  host "web" {
    command = ["web"]
  }
}

group "a" {
  host "db" {
    command = ["db"]
  }
}
