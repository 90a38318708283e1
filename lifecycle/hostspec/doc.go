// Package hostspec is what a host is to be: a value with its defaults, what may be wrong
// with it, and which differences between two of them ask for a new process. It holds what
// every host has and what package actors carries out. The rules of a feature belong to the
// feature's own package, and stand beside these in supervisor.HostSpec.
package hostspec
