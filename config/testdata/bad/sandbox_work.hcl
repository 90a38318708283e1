host "a" {
  command = ["a"]
  sandbox {
    level = "full"
    write = ["/srv/a/work", "/srv/a/work/src", "/tmp"]
    tmp {
      size   = "1KiB"
      inodes = 64
    }
    work {
      path = "/srv/a/work"
      size = "64MB"
    }
  }
}
host "b" {
  command = ["b"]
  sandbox {
    level = "full"
    write = ["/srv/b/work", "/tmp"]
    tmp {
      inodes = 64
    }
    work {
      path = "/srv/b/work"
    }
  }
}
host "c" {
  command = ["c"]
  sandbox {
    level = "full"
    work {
      size = "64MiB"
    }
  }
}
