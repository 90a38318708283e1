# a function with wrong arguments
host "web" {
  command = ["web", join(",", "a"), upper()]
}
