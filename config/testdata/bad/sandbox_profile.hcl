host "a" {
  command = ["a"]
  sandbox {
    profile = "pyhton"
    level   = "landlok"
    network = "some"
    jit     = "false"
  }
}
