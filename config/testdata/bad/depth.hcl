# limits outside of what can be kept
host "web" {
  command = ["web"]
  messages {
    max_depth    = 100000
    max_elements = 0
  }
}
