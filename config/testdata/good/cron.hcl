# hosts that run by the clock
host "backup" {
  kind     = "cron"
  schedule = "30 2 * * *"
  timezone = "Europe/Berlin"
  overlap  = "queue"
  command  = ["backup"]
}

host "poll" {
  kind     = "cron"
  schedule = "@every 10m"
  command  = ["poll"]
}
