# a command written as for a shell
host "web" {
  command = "node host.js --port 80"
}

host "shell" {
  command = "cd /srv && make"
}
