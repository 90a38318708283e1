package main

// runningProgram returns a path of the program that this process runs, also if another file is in its place.
func runningProgram() string { return "/proc/self/exe" }
