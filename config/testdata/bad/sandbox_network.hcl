host "a" {
  command = ["a"]
  sandbox {
    level   = "full"
    network = "allow"
    allow = [
      "db.example:5432",
      "db.example",
      "http://db.example/",
      "db.example:99999",
    ]
  }
}
host "b" {
  command = ["b"]
  sandbox {
    allow = ["db.example:5432"]
  }
}
host "c" {
  command = ["c"]
  sandbox {
    level   = "full"
    network = "allow"
  }
}
