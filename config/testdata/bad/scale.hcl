group "tools" {
  max_running   = 1
  memory_budget = "4096"

  host "a" {
    command = ["a"]
    recycle {
      drain = "5s"
    }
  }
  host "b" {
    command = ["b"]
    recycle {
      max_age    = "1d"
      jitter     = 2
      max_memory = "1GiB"
    }
  }
  host "c" {
    command = ["c"]
    kind    = "job"
    recycle {
      max_age = "1h"
    }
  }
  host "d" {
    command  = ["d"]
    protocol = "none"
    recycle {
      max_requests = 10
    }
  }
}
