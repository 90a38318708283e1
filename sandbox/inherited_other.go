//go:build !unix

package sandbox

// KeepInherited does nothing here: descriptors are handed on by name alone.
func KeepInherited() {}
