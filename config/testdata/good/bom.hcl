# a file from an editor that marks UTF-8 and ends lines with CR LF
host "web" {
  command = ["web"]
}
