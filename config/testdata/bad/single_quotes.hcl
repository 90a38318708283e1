# strings in single quotes
host "web" {
  command = ['web']
}
