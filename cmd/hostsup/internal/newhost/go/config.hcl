host "greeter" {
  command = ["./greeter"] # go build -o greeter .

  restart {
    max_crashes = 3 # the third crash within the window gives up
    window      = "1m"
  }
  unresponsive {
    after      = "1s"
    kill_after = "2s"
  }
}
