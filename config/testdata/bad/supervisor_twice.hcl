# two supervisor blocks
supervisor {
  on_failed = "exit"
}

supervisor {
  on_failed = "stay"
}

host "web" {
  command = ["web"]
}
