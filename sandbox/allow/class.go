package allow

import "net/netip"

// special lists ranges that netip has no predicate for. Addresses that are not
// public are refused unless an entry names them.
var special = []struct {
	prefix netip.Prefix
	class  string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "this network"}, // Linux takes 0.0.0.0 for loopback
	{netip.MustParsePrefix("100.64.0.0/10"), "shared"},   // carrier NAT; some clouds' metadata
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved"},  // protocol assignments; some clouds' metadata
	{netip.MustParsePrefix("192.0.2.0/24"), "documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "reserved"}, // relays of 6to4
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmarking"},
	{netip.MustParsePrefix("198.51.100.0/24"), "documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "documentation"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},      // and the broadcast address
	{netip.MustParsePrefix("168.63.129.16/32"), "metadata"}, // a public address that Azure answers within its network
	{netip.MustParsePrefix("2001::/23"), "reserved"},        // Teredo, ORCHID and other addresses that encode others
	{netip.MustParsePrefix("2001:db8::/32"), "documentation"},
	{netip.MustParsePrefix("2002::/16"), "6to4"}, // contains an IPv4 address
	{netip.MustParsePrefix("3fff::/20"), "documentation"},
}

var (
	nat64  = netip.MustParsePrefix("64:ff9b::/96") // the last four bytes are an IPv4 address
	global = netip.MustParsePrefix("2000::/3")     // the part of IPv6 that is assigned for public use
)

// Class returns "" for an address of the public internet, or else its class:
// "loopback", "private", "link-local", "metadata", "reserved" and others.
func Class(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	switch {
	case !a.IsValid():
		return "invalid"
	case a.IsUnspecified():
		return "unspecified"
	case a.IsLoopback():
		return "loopback"
	case a.IsPrivate():
		return "private"
	case a.IsLinkLocalUnicast():
		return "link-local"
	case a.IsMulticast():
		return "multicast"
	}
	for _, s := range special {
		if s.prefix.Contains(a) {
			return s.class
		}
	}
	switch {
	case a.Is4() || global.Contains(a):
		return ""
	case nat64.Contains(a):
		b := a.As16()
		return Class(netip.AddrFrom4([4]byte(b[12:])))
	}
	return "reserved"
}
