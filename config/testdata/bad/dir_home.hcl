# a path that only a shell understands
host "web" {
  command = ["web"]
  dir = "~/src"
}
