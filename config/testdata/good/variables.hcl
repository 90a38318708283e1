# variables, locals and functions
variable "port" {
  type        = number
  default     = 8080
  description = "where the web host listens"
}

variable "from_env" {}

variable "from_flag" {
  default = "not this"
}

variable "names" {
  type    = list(string)
  default = ["a", "b"]
}

variable "untyped" {
  default = { depth = 2 }
}

locals {
  # in any order: each value is worked out after those it needs
  args = concat(["--port", tostring(var.port)], local.more)
  more = [for n in var.names : "--name=${upper(n)}"]
}


host "web" {
  command = concat(["web"], local.args)
  env = {
    SELF   = self
    HOME   = env("HOME")
    SHELL  = env("SHELL", "/bin/sh")
    FLAG   = var.from_flag
    ENV    = var.from_env
    TRIED  = try(var.untyped.width, "no width")
    SHORT  = startswith("hostsup", "host") ? "yes" : "no"
    "A.B"  = join(",", sort(["b", "a"]))
    SCRIPT = <<-EOT
      first
        second
    EOT
  }
  init = {
    whole    = 3
    large    = 18446744073709551615
    part     = 0.5
    nothing  = null
    yes      = true
    list     = [1, "two", [3]]
    depth    = var.untyped.depth
    optional = lookup({ a = "x" }, "b", "none")
  }
}
