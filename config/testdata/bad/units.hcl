# extensions that a host consists of, with everything that can be wrong
host "app" {
  command = ["app"]
  extensions {
    builtin  = ["/opt/extensions"]
    trusted  = true
    settings = { "a" = 1 }
    declare "fmt" {
      events = ["onLanguage:go"]
    }
    declare "acme.fmt" {
      version    = ""
      events     = ["onLanguage:go", "onLanguage:go", ""]
      methods    = "fmt.run"
      depends_on = ["base"]
      needs      = ["acme.base"]
    }
    declare "Acme.fmt" {}
    declare {}
    deactivate = "0s"
  }
}

host "code" {
  command  = ["node", "/opt/code/out/bootstrap-fork.js", "--type=extensionHost"]
  protocol = "vscode"
  extensions {
    user = ["/srv/extensions"]
    declare "acme.fmt" {}
    deactivate = "2s"
  }
}

host "nvim" {
  command  = ["nvim"]
  protocol = "msgpack-rpc"
  extensions {
    declare "acme.fmt" {}
  }
}

host "mute" {
  command  = ["true"]
  protocol = "none"
  extensions {
    declare "acme.fmt" {}
  }
}
