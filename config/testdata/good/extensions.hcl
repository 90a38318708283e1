# extensions of hosts of VS Code: all settings, and none; ids in any case
host "code" {
  command  = ["node", "/opt/code/out/bootstrap-fork.js", "--type=extensionHost"]
  protocol = "vscode"
  reconnect {
    grace = "1h"
  }
  extensions {
    builtin     = ["/opt/code/extensions"]
    user        = ["installed", "/srv/missing"]
    development = ["/srv/projects/hello/"]
    registry    = "https://extensions.example/{publisher}/{name}-{version}.vsix"
    disabled    = ["VSCode.Git"]
    affinity    = { "golang.Go" = 2, "vscode.css" = 1 }
    events      = ["onLanguage:go", "onCommand:hello.greet"]
    workspace   = ["/srv/projects"]
    trusted     = false
    settings    = { "hello.greeting" = "hi", "[go]" = { "editor.tabSize" = 8 } }
    settings_file = "missing.json"
    storage     = "/var/lib/code"
    accounts    = { "github" = ["Acme.Pulls"] }
    questions   = "ask"
    question_wait = "1m"
    question "Install  * now?" {
      extension = "Golang.Go"
      answer    = "Yes"
    }
    question "name" {
      answer = ""
    }
    question "*" {}
    startup     = "30s"
    blame {
      window    = "10m"
      max_lives = 4
      quiet     = "1m"
    }
  }
}

host "early" {
  command  = ["node", "/opt/code/out/bootstrap-fork.js", "--type=extensionHost"]
  protocol = "vscode"
  start {
    eager = true
  }
  extensions {
    blame {
      window = "10m" # and quiet, too
    }
  }
}
