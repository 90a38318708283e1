# hooks that are none
host "a" {
  command      = ["a"]
  hook_timeout = "5s"
}

host "b" {
  command   = ["b"]
  pre_start = []
  post_stop = "rm -f lock"
}
