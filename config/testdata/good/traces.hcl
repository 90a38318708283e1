host "a" {
  command = ["/bin/a"]
}

supervisor {
  traces {
    endpoint = "https://otel.example:4318/team"
    headers  = { Authorization = "Bearer x" }
    sample   = 0.1
  }
}
