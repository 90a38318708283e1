# schedules that are none
group "g" {
  host "times" {
    kind     = "cron"
    schedule = "61 * * * *"
    timezone = "Europe/Atlantis"
    overlap  = "wait"
    command  = ["a"]
  }

  host "fields" {
    kind     = "cron"
    schedule = "* * * *"
    command  = ["a"]
  }

  host "zone" {
    kind     = "cron"
    schedule = "TZ=Europe/Berlin 0 2 * * *"
    command  = ["a"]
  }

  host "day" {
    kind     = "cron"
    schedule = "0 0 30 2 *"
    command  = ["a"]
  }

  host "part" {
    kind     = "cron"
    schedule = "@every 1500ms"
    command  = ["a"]
  }

  host "none" {
    kind    = "cron"
    command = ["a"]
    start {
      eager = true
    }
  }

  host "service" {
    schedule = "@daily"
    timezone = "Europe/Berlin"
    command  = ["a"]
  }

  host "job" {
    kind    = "job"
    overlap = "kill"
    command = ["a"]
  }

  host "web" {
    command = ["a"]
    start {
      depends_on = ["day"]
    }
  }
}
