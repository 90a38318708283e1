host "a" {
  command = ["a"]
  limits {
    memory        = "512MB"
    tasks         = 0
    cpu           = 0
    files         = "many"
    file_size     = "1KB"
    address_space = "1KiB"
    swap          = "1GiB"
  }
}
