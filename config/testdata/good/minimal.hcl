# the least there can be: everything else is a default
host "alone" {
  command = ["true"]
}
