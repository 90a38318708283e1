# variables and locals that are not declared
variable "port" {
  default = "80"
}

locals {
  bin = "/usr/bin"
}

host "web" {
  command = ["${local.bim}/web", var.prot, var.nothing]
}
