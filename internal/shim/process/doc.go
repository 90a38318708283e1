// Package process is the part of this program that runs as a shim; see package shim. It is
// this same program, recognised in an init function, which never returns. So that a shim
// starts fast and stays small, the package must import only what package helper may.
//
// # Order and concurrency
//
// A shim works on the main thread: it prepares its folder, starts the command, and goes on
// as a loop of system calls (Relay of package internal/sys).
//
// # What it never does
//
// It accepts orders only from its client, and never reaches the main function of the
// program.
package process
