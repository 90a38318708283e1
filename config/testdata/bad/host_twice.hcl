# two hosts of one name, in different groups
group "a" {
  host "web" {
    command = ["web"]
  }
}

host "web" {
  command = ["web"]
}
