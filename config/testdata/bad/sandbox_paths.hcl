host "a" {
  command = ["a"]
  sandbox {
    level = "full"
    read  = ["/", "~/x", "", "/proc/1", "/srv", "/srv"]
    exec  = "/usr/bin"
    write = [
      "/srv/w",
      "/sys/class",
    ]
    deny    = ["-/srv/.env", "/srv/[a", "ok/.env"]
    devices = ["/dev/mem", "/srv/d"]
  }
}
