# instances for programs that attach
host "pyright" {
  command  = ["pyright-langserver", "--stdio"]
  protocol = "jsonrpc-headers"
  dir      = root
  env      = { VIRTUAL_ENV = "${root}/.venv" }
  attach {
    instances     = "root"
    max_instances = 4
  }
  sandbox {
    profile = "node"
    read    = ["${root}"]
    write   = ["${root}/.cache"]
  }
}

host "memory" {
  command  = ["mcp-server-memory"]
  protocol = "jsonrpc-lines"
  attach {
    instances = "client"
    isolate   = true
  }
}

host "files" {
  command  = ["${root}/tools/server", root]
  protocol = "jsonrpc-lines"
  attach {
    instances = "root"
    idle_stop = "never"
  }
}

host "shared" {
  command  = ["server"]
  protocol = "jsonrpc-lines"
  attach {
    instances = "shared"
    idle_stop = "5m"
  }
}
