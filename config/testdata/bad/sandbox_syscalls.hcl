host "a" {
  command = ["a"]
  sandbox {
    syscalls {
      deny  = ["ptrce", "execve"]
      allow = ["mount", "ptrace", "read"]
    }
  }
}
