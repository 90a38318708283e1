# a variable without a value
variable "port" {
  type = number
}

host "web" {
  command = ["web", "${var.port}"]
}
