host "h" {
  command = ["/bin/x"]
  env = {
    J = secret("github")
    J = "again"
  }
}
