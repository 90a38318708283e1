# a supervisor without a host
supervisor {
  on_failed = "exit"
}
