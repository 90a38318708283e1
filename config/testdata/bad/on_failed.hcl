# a word that does not exist
supervisor {
  on_failed = "exti"
}

host "web" {
  command = ["web"]
}
