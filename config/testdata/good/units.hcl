# extensions that a host consists of: declared, and what the host says
host "app" {
  command = ["app"]
  extensions {
    declare "acme.base" {}
    declare "Acme.Fmt" {
      version    = "1.2.0"
      events     = ["onLanguage:go", "*"]
      methods    = ["fmt.run"]
      depends_on = ["acme.base"]
    }
    declare "acme.calm" {
      events = []
    }
    disabled   = ["acme.calm"]
    affinity   = { "acme.fmt" = 2 }
    workspace  = ["/srv/projects"]
    deactivate = "2s"
  }
}

host "early" {
  command = ["app"]
  extensions {}
}

host "declared_and_early" {
  command = ["app"]
  start {
    eager = true
  }
  extensions {
    declare "acme.base" {}
  }
}

host "silent" {
  command = ["app"]
  start {
    eager = false # only a person starts it, which is a warning
  }
  extensions {}
}
