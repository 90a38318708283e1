package netproxy

import (
	"encoding/binary"
	"net/netip"

	"github.com/hostsup/hostsup/sandbox/allow"
)

// The parts of SOCKS5 (RFC 1928) for clients that only connect.
const (
	socksVersion = 5
	socksNoAuth  = 0
	socksNone    = 0xff // no offered method is acceptable
	socksConnect = 1
	socksIPv4    = 1
	socksName    = 3
	socksIPv6    = 4
)

// parseGreeting parses the methods that a client offers. n is 0 if b is incomplete.
func parseGreeting(b []byte) (n int, noAuth bool) {
	if len(b) < 2 || len(b) < 2+int(b[1]) {
		return 0, false
	}
	n = 2 + int(b[1])
	for _, m := range b[2:n] {
		noAuth = noAuth || m == socksNoAuth
	}
	return n, noAuth
}

// parseSocks parses a request. If n is 0 and r is nil, b is incomplete; an incomplete
// request may already be refused.
func parseSocks(b []byte) (t allow.Target, n int, r *refusal) {
	switch {
	case len(b) > 0 && b[0] != socksVersion:
		return t, 0, &refusal{0, replyFailed, "not a SOCKS5 request"}
	case len(b) > 1 && b[1] != socksConnect:
		return t, 0, &refusal{0, replyCommand, "a SOCKS5 command other than CONNECT"}
	case len(b) > 2 && b[2] != 0:
		return t, 0, &refusal{0, replyFailed, "not a SOCKS5 request"}
	case len(b) < 5:
		return t, 0, nil
	}
	at, size := 4, int(b[4])
	switch b[3] {
	case socksIPv4:
		size = 4
	case socksIPv6:
		size = 16
	case socksName:
		at = 5
	default:
		return t, 0, &refusal{0, replyAddressType, "a SOCKS5 address of an unknown type"}
	}
	n = at + size + 2
	if len(b) < n {
		return t, 0, nil
	}
	host := string(b[at : at+size])
	if b[3] != socksName {
		a, _ := netip.AddrFromSlice(b[at : at+size])
		host = a.String()
	}
	t, reason := allow.NewTarget(host, binary.BigEndian.Uint16(b[n-2:]))
	if reason != "" {
		return t, 0, &refusal{0, replyFailed, reason}
	}
	return t, n, nil
}

// socksReply returns the answer to a request, without the bound address.
func socksReply(code byte) []byte {
	return []byte{socksVersion, code, 0, socksIPv4, 0, 0, 0, 0, 0, 0}
}
