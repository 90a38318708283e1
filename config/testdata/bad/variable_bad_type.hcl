# a type that does not exist
variable "port" {
  type    = strin
  default = "1"
}

host "web" {
  command = ["web"]
}
