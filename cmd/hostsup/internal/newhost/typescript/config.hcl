host "greeter" {
  command     = ["node", "dist/host.js"] # npm run build makes it
  inherit_env = ["PATH", "HOME"]

  restart {
    max_crashes = 3 # the third crash within the window gives up
    window      = "1m"
  }
  unresponsive {
    after      = "1s"
    kill_after = "2s"
  }
}
