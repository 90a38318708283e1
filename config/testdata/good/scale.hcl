group "tools" {
  max_running   = 10
  memory_budget = "4GiB"

  host "a" {
    command = ["a"]
    start {
      eager = false
    }
    recycle {
      max_age      = "24h"
      max_requests = 100000
    }
  }
  host "b" {
    command  = ["b"]
    protocol = "none"
    recycle {
      max_memory = "1GiB"
      jitter     = 0
      drain      = "1m"
    }
  }
}
