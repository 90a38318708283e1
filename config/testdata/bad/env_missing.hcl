# an environment variable that is not set
host "web" {
  command = ["web", env("NOT_SET")]
}
