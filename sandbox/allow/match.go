package allow

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Target is the destination of a client: a name in clean form, or an address.
type Target struct {
	Name string
	Addr netip.Addr // if valid, Name is ""
	Port uint16
}

// ParseTarget reads host:port as clients write it.
func ParseTarget(s string) (Target, error) {
	host, port, ok := SplitHostPort(s)
	if !ok {
		return Target{}, fmt.Errorf("%.100q is not host:port", s)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || !isDigit(port[0]) {
		return Target{}, fmt.Errorf("%.100q is not a port", port)
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(inner, "]")
		if a, err := netip.ParseAddr(host); err != nil || !a.Is6() {
			return Target{}, fmt.Errorf("%.100q is not an IPv6 address", host)
		}
	}
	t, reason := NewTarget(host, uint16(n))
	if reason != "" {
		return Target{}, fmt.Errorf("%.100q: %s", s, reason)
	}
	return t, nil
}

// NewTarget parses the host of a request, which must be without brackets. It
// returns the reason if host is invalid.
func NewTarget(host string, port uint16) (t Target, reason string) {
	if port == 0 {
		return t, "port 0"
	}
	if a, err := netip.ParseAddr(host); err == nil {
		if a.Zone() != "" {
			return t, "an address with a zone"
		}
		return Target{Addr: a.Unmap(), Port: port}, ""
	}
	name, reason := cleanName(host)
	return Target{Name: name, Port: port}, reason
}

// Host returns the address, or else the name.
func (t Target) Host() string {
	if t.Addr.IsValid() {
		return t.Addr.String()
	}
	return t.Name
}

func (t Target) String() string { return HostPort(t.Host(), t.Port) }

// HostPort writes a name or address and a port as in an allow entry.
func HostPort(host string, port uint16) string {
	if strings.ContainsRune(host, ':') {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(port))
}

func (e *entry) hasPort(port uint16) bool { return e.port == 0 || e.port == port }

// matches reports whether the entry matches t. "*" does not match an address that is
// not public.
func (e *entry) matches(t Target) bool {
	if !e.hasPort(t.Port) {
		return false
	}
	switch {
	case e.any:
		return t.Name != Localhost && (t.Name != "" || Class(t.Addr) == "")
	case t.Addr.IsValid():
		return e.addr == t.Addr || e.name == Localhost && t.Addr.IsLoopback()
	case e.suffix != "":
		return strings.HasSuffix(t.Name, e.suffix)
	}
	return e.name != "" && e.name == t.Name
}

// Permits reports whether an entry matches t.
func (r *Rules) Permits(t Target) bool {
	if r == nil {
		return false
	}
	for i := range r.entries {
		if r.entries[i].matches(t) {
			return true
		}
	}
	return false
}

// Names reports whether an entry is exactly this address, which may then be reached
// whatever its class.
func (r *Rules) Names(a netip.Addr, port uint16) bool {
	for i := range r.entries {
		e := &r.entries[i]
		if e.hasPort(port) && (e.addr == a || e.name == Localhost && a.IsLoopback()) {
			return true
		}
	}
	return false
}

// Allows reports whether host:port matches an entry. It resolves no name: the
// addresses of a name may still be refused.
func (r *Rules) Allows(host string, port uint16) bool {
	t, reason := NewTarget(host, port)
	return reason == "" && r.Permits(t)
}

// Knows reports whether any port of host matches an entry.
func (r *Rules) Knows(host string) bool {
	if r == nil {
		return false
	}
	for i := range r.entries {
		e := &r.entries[i]
		if t, reason := NewTarget(host, max(e.port, 1)); reason == "" && e.matches(t) {
			return true
		}
	}
	return false
}

// Forward is a listener on the confined side whose connections go to one host and
// port on the host side.
type Forward struct {
	Listen netip.AddrPort // a loopback address on the confined side
	Target string         // host:port on the host side
	Name   string         // the name for Listen in the confined /etc/hosts; "" for loopback entries
}

// Forwards returns the listeners for programs that do not support proxies: each
// loopback entry at its own address, and each name with a port at its own loopback
// address (127.64.0.1 and up), which the confined /etc/hosts must contain. Entries
// with * and addresses that are not loopback have no listener; they are reachable
// through the proxy only.
func (r *Rules) Forwards() []Forward {
	if r == nil {
		return nil
	}
	var list []Forward
	seen := map[netip.AddrPort]bool{}
	add := func(a netip.Addr, e *entry, host, name string) {
		l := netip.AddrPortFrom(a, e.port)
		if seen[l] || e.port == Port && a.IsLoopback() && name == "" {
			return
		}
		seen[l] = true
		list = append(list, Forward{Listen: l, Target: HostPort(host, e.port), Name: name})
	}
	byName := map[string]netip.Addr{}
	next := netip.AddrFrom4([4]byte{127, 64, 0, 1})
	for i := range r.entries {
		e := &r.entries[i]
		switch {
		case e.port == 0:
		case e.name == Localhost:
			add(netip.AddrFrom4([4]byte{127, 0, 0, 1}), e, Localhost, "")
			add(netip.IPv6Loopback(), e, Localhost, "")
		case e.addr.IsValid() && e.addr.IsLoopback():
			add(e.addr, e, e.addr.String(), "")
		case e.name != "":
			a, ok := byName[e.name]
			if !ok {
				a = next
				next = next.Next()
				byName[e.name] = a
			}
			add(a, e, e.name, e.name)
		}
	}
	return list
}
