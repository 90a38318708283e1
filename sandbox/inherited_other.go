//go:build !unix

package sandbox

// CloseInheritedOnExec does nothing on this system, where only named descriptors are
// inherited.
func CloseInheritedOnExec() {}
