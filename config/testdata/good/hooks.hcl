# commands around each life
host "db" {
  command   = ["db"]
  protocol  = "none"
  pre_start = ["./prepare", "all"]
  post_stop = ["rm", "-f", "lock"]
  hook_timeout = "5s"
  start {
    timeout = "20s"
  }
}
