host "both" {
  for_each  = ["a"]
  instances = 2
  command   = ["/bin/true"]
}

host "half" {
  instances = 1.5
  command   = ["/bin/true"]
}

host "words" {
  instances = ["a"]
  command   = ["/bin/true"]
}

host "web" {
  instances = 2
  command   = ["/bin/true", each.nothing]
}

host "web" {
  command = ["/bin/true"]
}

host "web-2" {
  command = ["/bin/true"]
}

group "g" {
  host "a" {
    instances = 2
    command   = ["/bin/true"]
  }
  host "b" {
    command = ["/bin/true"]
    start { depends_on = ["a"] }
  }
}

host "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghij123" {
  instances = 2
  command   = ["/bin/true"]
}
