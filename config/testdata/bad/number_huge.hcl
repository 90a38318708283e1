# a number whose digits would fill the memory
host "web" {
  command = ["web"]
  restart {
    max_crashes = 1e999999999
  }
}
