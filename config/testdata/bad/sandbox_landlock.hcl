host "a" {
  command = ["a"]
  sandbox {
    level   = "landlock" # weaker than what the rest needs
    read    = ["/srv"]
    deny    = ["/srv/.env"]
    network = "allow"
    allow   = ["db.example:5432"]
    tmp {
      size = "1MiB"
    }
    work {
      path = "/srv/w"
    }
  }
}
