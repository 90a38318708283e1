# what instances cannot be, and where root has no meaning
host "shared" {
  command  = ["server", root]
  protocol = "jsonrpc-lines"
  attach {
    max_instances = 4
  }
}

host "client" {
  command  = ["server"]
  protocol = "jsonrpc-lines"
  attach {
    instances = "client"
    idle_stop = "5m"
  }
}

host "places" {
  command  = ["server", basename(root)]
  dir      = "${rot}/x"
  protocol = "jsonrpc-lines"
  init     = { folder = root }
  attach {
    instances     = "root"
    max_instances = 0
  }
}

host "numbers" {
  command   = ["server"]
  protocol  = "jsonrpc-lines"
  instances = 2
  attach {
    instances = "root"
  }
}

host "unknown" {
  command  = ["server"]
  protocol = "jsonrpc-lines"
  attach {
    instances = "user"
  }
}

group "pair" {
  host "pattern" {
    command  = ["server"]
    protocol = "jsonrpc-lines"
    attach {
      instances = "root"
    }
  }
  host "needs" {
    command = ["needs"]
    start {
      depends_on = ["pattern"]
    }
  }
}
