# a string larger than the message it is part of
host "web" {
  command = ["web"]
  messages {
    max_size   = "1MiB"
    max_string = "2MiB"
  }
}
