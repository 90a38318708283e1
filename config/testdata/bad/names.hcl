# names that cannot be typed, or be part of a file name
host "my host" {
  command = ["a"]
}

host "../etc" {
  command = ["b"]
}

host "" {
  command = ["c"]
}

host "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" {
  command = ["d"]
}

group "-x" {
  host "é" {
    command = ["e"]
  }
}
