host "strict" {
  command = ["/bin/true"]
  sandbox {
    profile = "strict"
  }
}

host "all" {
  command = ["node", "host.js"]
  limits {
    enforce       = "best-effort"
    memory        = "256MiB"
    tasks         = 64
    cpu           = 0.5
    files         = 256
    file_size     = "64MiB"
    address_space = "8GiB"
  }
  sandbox {
    profile = "node"
    level   = "no-cgroup"
    user    = "1001"
    read    = ["data", "-/opt/node", "/usr"]
    exec    = ["/opt/tools"]
    write   = ["/srv/ts/src"]
    deny    = ["/srv/ts/src/.env", "data/**/*.pem"]
    network = "allow"
    allow   = ["db.example:5432", "127.0.0.1:8080"]
    jit     = false
    devices = ["-/dev/dri"]
    syscalls {
      deny  = ["inotify_init1"]
      allow = ["ptrace"]
    }
    tmp {
      size   = "32MiB"
      inodes = 1024
    }
    work {
      path   = "../../srv/ts/work"
      size   = "16MiB"
      inodes = 512
      keep   = true
    }
  }
}

host "bounded" {
  command = ["a"]
  limits {
    tasks = 8
  }
}
