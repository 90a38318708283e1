package netproxy

import (
	"net/netip"
	"strconv"
	"strings"
)

// target is what a client asks for: a name in clean form, or an address.
type target struct {
	name string
	addr netip.Addr // valid: no name
	port uint16
}

// newTarget takes the host of a request apart; brackets are gone already.
func newTarget(host string, port uint16) (t target, reason string) {
	if port == 0 {
		return t, "port 0"
	}
	if a, err := netip.ParseAddr(host); err == nil {
		if a.Zone() != "" {
			return t, "an address with a zone"
		}
		return target{addr: a.Unmap(), port: port}, ""
	}
	name, reason := cleanName(host)
	return target{name: name, port: port}, reason
}

func (t target) host() string {
	if t.addr.IsValid() {
		return t.addr.String()
	}
	return t.name
}

func (t target) String() string { return HostPort(t.host(), t.port) }

// HostPort writes a name or address and a port as an allow entry has them.
func HostPort(host string, port uint16) string {
	if strings.ContainsRune(host, ':') {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(port))
}

func (e *entry) hasPort(port uint16) bool { return e.port == 0 || e.port == port }

// matches says whether the entry is for what is asked for. For "*" and an
// address that is not public it says no.
func (e *entry) matches(t target) bool {
	if !e.hasPort(t.port) {
		return false
	}
	switch {
	case e.any:
		return t.name != localhost && (t.name != "" || class(t.addr) == "")
	case t.addr.IsValid():
		return e.addr == t.addr || e.name == localhost && t.addr.IsLoopback()
	case e.suffix != "":
		return strings.HasSuffix(t.name, e.suffix)
	}
	return e.name != "" && e.name == t.name
}

// allows says whether some entry is for what is asked for.
func (r *Rules) allows(t target) bool {
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

// names says whether an entry is this very address, which then may be
// reached whatever it is.
func (r *Rules) names(a netip.Addr, port uint16) bool {
	for i := range r.entries {
		e := &r.entries[i]
		if e.hasPort(port) && (e.addr == a || e.name == localhost && a.IsLoopback()) {
			return true
		}
	}
	return false
}

// Allows says whether host:port matches an entry. It resolves nothing, so what
// a name resolves to may still be refused.
func (r *Rules) Allows(host string, port uint16) bool {
	t, reason := newTarget(host, port)
	return reason == "" && r.allows(t)
}

// Knows says whether some port of host matches an entry.
func (r *Rules) Knows(host string) bool {
	if r == nil {
		return false
	}
	for i := range r.entries {
		e := &r.entries[i]
		if t, reason := newTarget(host, max(e.port, 1)); reason == "" && e.matches(t) {
			return true
		}
	}
	return false
}

// Forward is a listener inside the namespace whose connections go to one host
// and port outside.
type Forward struct {
	Listen netip.AddrPort // a loopback address inside
	Target string         // host:port outside
	Name   string         // what should resolve to Listen inside, for /etc/hosts; "" for loopback entries
}

// Forwards lists the listeners with which programs that know no proxy reach
// what the list names: each loopback entry at its own address, and each name
// with a port at a loopback address of its own (127.64.0.1 and up), under
// which an /etc/hosts inside should know it. Entries with * have none, nor have
// addresses that are not loopback: those are reached through the proxy alone.
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
		case e.name == localhost:
			add(netip.AddrFrom4([4]byte{127, 0, 0, 1}), e, localhost, "")
			add(netip.IPv6Loopback(), e, localhost, "")
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
