# extensions with everything that can be wrong with them
host "code" {
  command  = ["node", "/opt/code/out/bootstrap-fork.js", "--type=extensionHost"]
  protocol = "vscode"
  extensions {
    builtin     = ["/opt/extensions", "/srv/a-file", "", "~/extensions", 7]
    user        = ["/opt/extensions", "/srv/x", "/srv/x/"]
    development = "/srv/hello"
    registry    = "http://extensions.example/{publisher}/{name}"
    disabled    = ["git", "vscode.git", "VSCode.Git", "a b.c", 1]
    affinity    = { "vscode.css" = 0, "css" = 1, "golang.go" = "2", "golang.Go" = 3, "a.b" = 2, "a.c" = 1.5 }
    events      = ["onLanguage:go", "go", "*", "workspaceContains:go.mod", "onLanguage:go"]
    workspace   = ["~"]
    startup     = "0s"
    trusted     = "no"
    settings    = ["hello.greeting"]
    settings_file = 7
    storage     = ""
    activate    = true
    blame {
      window    = 5
      max_lives = 0
      quiet     = "soon"
      crashes   = 2
    }
  }
}

host "code-2" {
  command  = ["web"]
  protocol = "none"
  reconnect {
    grace = "1h"
  }
  extensions {
    user = ["/srv/extensions"]
  }
}

host "files" {
  command  = ["web"]
  protocol = "jsonrpc-lines"
  reconnect {}
  extensions {
    user = ["/srv/extensions"]
  }
  blame {
    window = "5m"
  }
}
