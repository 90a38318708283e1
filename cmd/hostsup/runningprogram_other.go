//go:build !linux

package main

import "os"

// runningProgram returns the path of the program file of this process.
func runningProgram() string { return os.Args[0] }
