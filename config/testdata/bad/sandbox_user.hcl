host "a" {
  command = ["a"]
  sandbox {
    user = "root"
  }
}
host "b" {
  command   = ["b"]
  transport = "unix"
  sandbox {}
  sandbox {}
}
host "c" {
  command = ["c"]
  sandbox {
    reed = ["/srv"]
    path = "/srv/w"
  }
}
