# never where it has no meaning, and misspelt where it has
host "web" {
  command = ["web"]
  stop {
    grace = "never"
  }
  unresponsive {
    kill_after = "nevr"
  }
}
