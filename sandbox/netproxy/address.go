package netproxy

import "net/netip"

// Class is "" for an address of the public internet, else a word for what it
// is: "loopback", "private", "link-local", "metadata", "reserved" and others.
func Class(a netip.Addr) string { return class(a) }
