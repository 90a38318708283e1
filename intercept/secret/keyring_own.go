//go:build windows || darwin

package secret

// mocked is set by tests.
var mocked bool

// keyringReachable: it is a part of the system here.
func keyringReachable() error { return nil }
