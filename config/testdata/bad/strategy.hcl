# a strategy that does not exist
group "a" {
  strategy = "one_for_al"

  host "web" {
    command = ["web"]
  }
}
