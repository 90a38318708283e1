//go:build windows || darwin

package stores

// mocked is set by tests.
var mocked bool

// keyringReachable: it is a part of the system here.
func keyringReachable() error { return nil }
