# The configuration of the walk: one demo host, impatient, so that the story is short.
supervisor {
  state_dir = env("WALK_DIR")
  socket    = "${env("WALK_DIR")}/hostsup.sock"
}

host "demo" {
  command = [self, "demo-host"]
  unresponsive {
    after      = "1s"
    kill_after = "1s"
  }
}
