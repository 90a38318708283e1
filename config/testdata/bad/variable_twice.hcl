# a variable that is declared twice, and a name that cannot be written
variable "a" {
  default = 1
}

variable "a" {
  default = 2
}

variable "9 lives" {
  default = 3
}

host "web" {
  command = ["web"]
}
