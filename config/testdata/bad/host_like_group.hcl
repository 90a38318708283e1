# a host with the name of a group, and a group with the name of a host
group "web" {
  host "web" {
    command = ["web"]
  }
}

host "alone" {
  command = ["x"]
}

group "alone" {
  host "b" {
    command = ["b"]
  }
}
