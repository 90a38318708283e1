# relative paths start from the folder of the file; a relative program starts from dir
supervisor {
  socket    = "run/hostsup.sock"
  state_dir = "../state"
}

host "beside" {
  command = ["./bin/beside", "./not/changed"]
}

host "inside" {
  command = ["./inside"]
  dir     = "srv"
}

host "looked-up" {
  command = ["looked-up"]
  dir     = "/srv/x/../y"
}
