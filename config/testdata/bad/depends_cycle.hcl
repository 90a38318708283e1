# hosts that depend on each other, in two circles
group "ring" {
  host "a" {
    command = ["a"]
    start {
      depends_on = ["b"]
    }
  }

  host "b" {
    command = ["b"]
    start {
      depends_on = ["c"]
    }
  }

  host "c" {
    command = ["c"]
    start {
      depends_on = ["a"]
    }
  }

  host "d" {
    command = ["d"]
    start {
      depends_on = ["a", "e"]
    }
  }

  host "e" {
    command = ["e"]
    start {
      depends_on = ["d"]
    }
  }
}
