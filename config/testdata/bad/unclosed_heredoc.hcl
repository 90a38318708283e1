# a heredoc that is never closed
host "web" {
  command = ["sh", "-c", <<EOT
    echo hi
  ]
}
