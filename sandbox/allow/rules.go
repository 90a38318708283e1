package allow

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Port is the loopback port of the proxy in the confined network namespace.
const Port = 3128

// ErrInvalid matches every error of [Parse].
var ErrInvalid = errors.New("invalid allow entry")

// EntryError describes one invalid entry of an allow list.
type EntryError struct {
	Index  int    // in the list
	Value  string // the entry
	Reason string // lower case, without the value
	Help   string // what would be valid
}

// Error returns a line such as `allow[2]: "example.com": no port; write example.com:443`.
func (e *EntryError) Error() string {
	s := fmt.Sprintf("allow[%d]: %q: %s", e.Index, e.Value, e.Reason)
	if e.Help != "" {
		s += "; " + e.Help
	}
	return s
}

// Unwrap returns [ErrInvalid].
func (e *EntryError) Unwrap() error { return ErrInvalid }

// Rules is a parsed allow list. It is never changed after Parse, and safe for
// concurrent use. The zero value and nil allow nothing.
type Rules struct{ entries []entry }

// entry is one host:port. Exactly one of any, suffix, name and addr is set.
type entry struct {
	text   string
	any    bool       // "*": every name, and every public address
	suffix string     // ".example.com" for "*.example.com": names below it, not itself
	name   string     // "example.com"
	addr   netip.Addr // an address, unmapped
	port   uint16     // 0: every port
}

// Localhost is never resolved: it always means the loopback addresses.
const Localhost = "localhost"

// Parse reads an allow list. An entry is HOST:PORT. HOST is a name, *.NAME for
// everything below NAME (not NAME itself), an IPv4 address, an IPv6 address in
// brackets, localhost, or * for every name and every public address. PORT is 1
// to 65535, or * for every port. Names are ASCII (internationalised ones as
// xn--), case does not matter, and a dot at the end is dropped.
//
// Parse resolves no name. The error joins one *[EntryError] for each invalid entry.
func Parse(entries []string) (*Rules, error) {
	r := &Rules{}
	var errs []error
	for i, s := range entries {
		e, err := parseEntry(s)
		if err != nil {
			err.Index, err.Value = i, s
			errs = append(errs, err)
			continue
		}
		r.entries = append(r.entries, e)
	}
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	return r, nil
}

// Valid reports whether [Parse] accepts s as an entry.
func Valid(s string) bool {
	_, err := parseEntry(s)
	return err == nil
}

func parseEntry(s string) (entry, *EntryError) {
	wrong := func(reason, help string) (entry, *EntryError) {
		return entry{}, &EntryError{Reason: reason, Help: help}
	}
	switch {
	case s == "":
		return wrong("it is empty", "write host:port")
	case strings.Contains(s, "://"):
		return wrong("it is a URL", "write host:port without scheme and path")
	case strings.ContainsAny(s, "/\\"):
		return wrong("it has a slash", "write host:port; ranges of addresses are not supported")
	case strings.ContainsAny(s, "@?# \t\r\n"):
		return wrong("it is not host:port", "write a name or address, a colon and a port")
	}
	host, port, ok := SplitHostPort(s)
	if !ok {
		if a, err := netip.ParseAddr(s); err == nil && a.Is6() {
			return wrong("an IPv6 address needs brackets and a port", "write ["+s+"]:443")
		}
		return wrong("no port", "write "+s+":443, or "+s+":* for every port")
	}
	e := entry{text: s}
	if port != "*" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 || port[0] == '+' || port[0] == '0' {
			return wrong(fmt.Sprintf("%q is not a port", port), "write 1 to 65535, or *")
		}
		e.port = uint16(n)
	}
	if host == "*" {
		e.any = true
		return e, nil
	}
	bare, bracketed := strings.CutPrefix(host, "[")
	if bracketed {
		bare = strings.TrimSuffix(bare, "]")
	}
	if a, err := netip.ParseAddr(bare); err == nil {
		switch {
		case a.Zone() != "":
			return wrong("an address with a zone", "leave out %"+a.Zone())
		case a.Is6() != bracketed:
			return wrong("only IPv6 addresses are written in brackets", "write [::1]:80 or 127.0.0.1:80")
		}
		e.addr = a.Unmap()
		if e.addr.IsUnspecified() || e.addr.IsMulticast() {
			return wrong("nothing can be connected to at "+bare, "name a specific address")
		}
		return e, nil
	}
	if bracketed {
		return wrong("the address in brackets is not IPv6", "")
	}
	name, wild := strings.CutPrefix(host, "*.")
	name, reason := cleanName(name)
	switch {
	case reason != "":
		return wrong(reason, nameHelp(host))
	case wild && name == Localhost:
		return wrong("there is nothing below localhost", "write localhost:"+port)
	case wild:
		e.suffix = "." + name
	default:
		e.name = name
	}
	return e, nil
}

// SplitHostPort splits s at the last colon; it does not accept an IPv6 address
// without brackets.
func SplitHostPort(s string) (host, port string, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i <= 0 || i == len(s)-1 {
		return "", "", false
	}
	host, port = s[:i], s[i+1:]
	if strings.HasPrefix(host, "[") != strings.HasSuffix(host, "]") {
		return "", "", false
	}
	if host[0] != '[' && strings.ContainsRune(host, ':') {
		return "", "", false
	}
	return host, port, true
}

// cleanName returns a host name in the form that is compared and resolved, or the
// reason why it is invalid.
func cleanName(s string) (name, reason string) {
	s = strings.TrimSuffix(s, ".")
	switch {
	case s == "":
		return "", "no host"
	case len(s) > 253:
		return "", "the name is longer than 253 bytes"
	}
	for _, label := range strings.Split(s, ".") {
		switch {
		case label == "":
			return "", "the name has an empty part"
		case len(label) > 63:
			return "", "a part of the name is longer than 63 bytes"
		case label[0] == '-' || label[len(label)-1] == '-':
			return "", "a part of the name begins or ends with a hyphen"
		}
		for _, c := range []byte(label) {
			switch {
			case c == '*':
				return "", "* stands only alone or as the first part of the name"
			case c >= 0x80:
				return "", "the name is not ASCII"
			case c != '-' && c != '_' && !isDigit(c) && !isAlpha(c):
				return "", fmt.Sprintf("the name contains %q", string(c))
			}
		}
	}
	// Resolvers disagree on 127.1, 0x7f000001 and 2130706433; no name ends in a
	// number.
	last := s[strings.LastIndexByte(s, '.')+1:]
	if isDigit(last[0]) && strings.Trim(last, "0123456789") == "" || hexNumber(last) {
		return "", "it ends in a number but is not an address of four decimal parts"
	}
	return strings.ToLower(s), ""
}

func hexNumber(s string) bool {
	return len(s) >= 2 && s[0] == '0' && s[1]|0x20 == 'x' && strings.Trim(s[2:], "0123456789abcdefABCDEF") == ""
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func nameHelp(host string) string {
	for _, c := range []byte(host) {
		if c >= 0x80 {
			return "write it as xn--…"
		}
	}
	return "write a name like db.example, or an address"
}

// String returns the entries of the list.
func (r *Rules) String() string {
	if r == nil {
		return ""
	}
	var b strings.Builder
	for i, e := range r.entries {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(e.text)
	}
	return b.String()
}
