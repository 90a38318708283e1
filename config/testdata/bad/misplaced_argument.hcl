# arguments that belong into a block
host "web" {
  command = ["web"]
  timeout = "5s"
  max_crashes = 3
  initial = "1s"
}
