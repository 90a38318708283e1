# a default of another type, and a value of another type from the environment
variable "count" {
  type    = number
  default = "many"
}

variable "envnum" {
  type = number
}

host "web" {
  command = ["web"]
  restart {
    max_crashes = var.count
  }
}
