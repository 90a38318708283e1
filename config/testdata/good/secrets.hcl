# Secrets are named, and nothing of them is read here.
secrets {
  backend  = "file"
  service  = "editor"
  file     = "keys/secrets.age"
  identity = "/etc/hostsup/identity"
  cache    = "90s"
}

variable "team" {
  default = "core"
}

host "all" {
  command = ["/bin/all"]
  env = {
    PLAIN  = "plain"
    TOKEN  = secret("github")
    OTHER  = (secret("${var.team}/api"))
    "AUTH" = "Bearer ${secret("github")}"
    WRAP   = "${secret("a:b")}"
    BOTH   = "${secret("user")}:${secret("pass")}@${var.team}:${1 + 2} $${x} \"q\""
  }
  secrets = ["github", "pass"]
}

host "none" {
  command  = ["/bin/none"]
  protocol = "none"
  env      = { TOKEN = secret("github") }
}

host "noask" {
  command = ["/bin/noask"]
  secrets = []
}
