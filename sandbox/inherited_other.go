//go:build !unix

package sandbox

// CloseInheritedOnExec does nothing here: descriptors are handed on by name alone.
func CloseInheritedOnExec() {}
