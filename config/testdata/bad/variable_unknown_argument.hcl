# arguments that a variable does not have
variable "a" {
  defualt = 1
}

host "web" {
  command = ["web"]
}
