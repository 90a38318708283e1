secrets {
  backend = "vault"
  cache   = 300
}

secrets {}

locals {
  token = secret("github")
}

variable "x" {
  default = secret("github")
}

host "args" {
  command = ["/bin/x", "--token", secret("github")]
  dir     = "/srv/${secret("github")}"
  init    = { token = secret("github") }
  secrets = ["ok", "no way", "ok"]
}

host "env" {
  command = ["/bin/x"]
  env = {
    A = upper(secret("github"))
    B = 1 == 1 ? secret("github") : "x"
    C = secret()
    D = secret("a", "b")
    E = secret(7)
    F = secret("")
    G = secret(var.missing)
    H = "x${upper(secret("github"))}"
    I = "x${[1]}${secret("github")}"
    J = secret("github")
    J = "again"
    K = secret("github")
    K = secret("other")
    HOSTSUP_L = secret("github")
    (secret("github")) = "m"
    N = jsonencode({ t = secret("github") })
    O = "%{ if true }${secret("github")}%{ endif }"
  }
}

host "merged" {
  command = ["/bin/x"]
  env     = merge({ A = "a" }, { B = secret("github") })
}

host "mute" {
  command  = ["/bin/x"]
  protocol = "none"
  secrets  = ["github"]
  inherit_env = [secret("github")]
}

exec_server {
  listen = "stdio"
  env    = { TOKEN = secret("github") }
}
