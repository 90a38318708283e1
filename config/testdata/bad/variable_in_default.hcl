# a default that refers to another variable
variable "a" {
  default = "x"
}

variable "b" {
  default = var.a
}

host "web" {
  command = ["web"]
}
