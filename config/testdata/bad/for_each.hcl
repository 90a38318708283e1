host "outside" {
  command = ["/bin/a", each.key]
}

host "some" {
  for_each = ["a", "b", "c"]
  command  = ["/bin/a"]
  comand   = "x"
  dir      = each.key == "b" ? "" : "/"

  start {
    depends_on = ["nobody"]
  }
}

host "keys" {
  for_each = ["a/b", "a", "a", true, {}]
  command  = ["/bin/a"]
}

host "value" {
  for_each = "a"
  command  = ["/bin/${each.value}", 7]
}

host "map" {
  for_each = { x = 1 }
  command  = ["/bin/${each.other}"]
}

host "map-x" {
  command = ["/bin/a"]
}

exec_server {
  for_each = ["a"]
}
