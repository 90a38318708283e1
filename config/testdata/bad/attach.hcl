# who can be attached to, and what goes with it
host "own" {
  command = ["own"]
  attach  = true
}

host "lsp" {
  command  = ["lsp"]
  protocol = "jsonrpc-headers"
  attach   = "yes"
}

host "eager" {
  command      = ["eager"]
  protocol     = "jsonrpc-headers"
  attach       = true
  stdout_noise = "fail"
  start {
    eager = true
  }
}

host "vim" {
  command   = ["nvim", "--embed"]
  protocol  = "msgpack-rpc"
  transport = "fd"
  init      = { a = 1 }
}

host "dscode" {
  command   = ["node", "host.js"]
  protocol  = "dscode"
  transport = "unix"
  sandbox {
    profile = "strict"
  }
}

host "pings" {
  command = ["pings"]
  unresponsive {
    method = "are-you-there"
  }
}

host "twice" {
  command  = ["twice"]
  protocol = "jsonrpc-lines"
  attach   = true
  attach {
    isolate = true
  }
}

host "job" {
  command = ["job"]
  kind    = "job"
  attach {
    isolate = "yes"
  }
}

host "mute" {
  command  = ["nvim", "--embed"]
  protocol = "msgpack-rpc"
  attach {
    notify = true
  }
}
