# values that are no strings
host "web" {
  command = ["web"]
  env = {
    PORT  = 8080
    DEBUG = true
    LIST  = ["a"]
    NONE  = null
  }
}
