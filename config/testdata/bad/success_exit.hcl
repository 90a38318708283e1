# ends that cannot be
host "web" {
  command = ["web"]
  restart {
    success_exit = [3, 256, -1, "SIGNOTHING", true]
  }
}
