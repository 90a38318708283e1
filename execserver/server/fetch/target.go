package fetch

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/hostsup/hostsup/execserver/internal/weburl"
)

// target is a URL in its normal form.
type target struct {
	scheme   string
	host     string // without brackets
	port     uint16 // 0: that of the scheme
	path     string // with the query, escaped; begins with a slash
	user     string
	password string
	login    bool   // there is a user or a password
	fragment string // with its #; for errors alone
}

// What can be wrong with a URL, in the words that clients know.
var (
	errRelative = errors.New("relative URL without a base")
	errNoHost   = errors.New("empty host")
	errPort     = errors.New("invalid port number")
	errIPv6     = errors.New("invalid IPv6 address")
	errIPv4     = errors.New("invalid IPv4 address")
	errHost     = errors.New("invalid international domain name")
)

func (t *target) web() bool { return t.scheme == "http" || t.scheme == "https" }

// parseTarget parses an absolute URL as browsers do. Of a URL that is not http or
// https it returns the scheme alone. Names with letters beyond ASCII are converted to
// their ASCII form.
func parseTarget(s string) (*target, error) {
	scheme, rest, ok := weburl.CutScheme(weburl.Trim(s))
	if !ok {
		return nil, errRelative
	}
	t := &target{scheme: scheme}
	if !t.web() {
		return t, nil
	}
	rest, fragment, marked := strings.Cut(rest, "#")
	if marked {
		t.fragment = "#" + weburl.Escape(fragment, "\"<>`")
	}
	rest, query, asked := strings.Cut(rest, "?")
	rest = strings.TrimLeft(strings.ReplaceAll(rest, `\`, "/"), "/")
	authority, path, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		user, password, _ := strings.Cut(authority[:i], ":")
		t.user, t.password = weburl.Unescape(user), weburl.Unescape(password)
		t.login = user != "" || password != ""
		authority = authority[i+1:]
	}
	if err := t.authority(authority); err != nil {
		return nil, err
	}
	t.path = weburl.CleanPath("/" + path)
	if asked {
		t.path += "?" + weburl.Escape(query, "\"<>'")
	}
	return t, nil
}

func (t *target) authority(s string) error {
	var host, port string
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return errIPv6
		}
		addr, err := netip.ParseAddr(s[1:end])
		if err != nil || !addr.Is6() || addr.Zone() != "" {
			return errIPv6
		}
		host, port = addr.String(), s[end+1:]
		if port != "" && port[0] != ':' {
			return errPort
		}
		port = strings.TrimPrefix(port, ":")
	} else {
		host, port, _ = strings.Cut(s, ":")
		var err error
		switch host, err = asciiHost(strings.ToLower(weburl.Unescape(host))); {
		case err != nil:
			return err
		case host == "":
			return errNoHost
		case !isHost(host):
			return errHost
		}
		if host, err = numericHost(host); err != nil {
			return err
		}
	}
	t.host = host
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || port[0] == '+' {
			return errPort
		}
		if int(n) != t.defaultPort() {
			t.port = uint16(n)
			if n == 0 {
				return errPort
			}
		}
	}
	return nil
}

// international converts names as browsers do, which also look up names that are not
// host names by the older rules.
var international = idna.New(idna.MapForLookup(), idna.StrictDomainName(false), idna.CheckHyphens(false), idna.BidiRule(), idna.Transitional(false))

// asciiHost returns an international name in the form in which it is looked up,
// and any other as it is.
func asciiHost(host string) (string, error) {
	if strings.IndexFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return host, nil
	}
	ascii, err := international.ToASCII(host)
	if err != nil {
		return "", errHost
	}
	return ascii, nil
}

// isHost reports whether s is a name that can be looked up.
func isHost(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("#/:<>?@[\\]^|%\"`{}", c) >= 0 {
			return false
		}
	}
	return len(s) <= 255
}

// numericHost turns the many ways to write an IPv4 address (127.1, 0x7f000001,
// 0177.0.0.1) into the one that says what it is.
func numericHost(host string) (string, error) {
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	last := parts[len(parts)-1]
	if _, err := numericPart(last); err != nil && strings.Trim(last, "0123456789") != "" || last == "" {
		return host, nil // a name
	}
	if len(parts) > 4 {
		return "", errIPv4
	}
	var addr uint64
	for i, p := range parts {
		n, err := numericPart(p)
		if err != nil {
			return "", errIPv4
		}
		if i < len(parts)-1 {
			if n > 255 {
				return "", errIPv4
			}
			addr |= n << (8 * (3 - i))
			continue
		}
		if n >= 1<<(8*(5-len(parts))) {
			return "", errIPv4
		}
		addr |= n
	}
	return netip.AddrFrom4([4]byte{byte(addr >> 24), byte(addr >> 16), byte(addr >> 8), byte(addr)}).String(), nil
}

func numericPart(s string) (uint64, error) {
	base := 10
	switch {
	case strings.HasPrefix(s, "0x"):
		if s, base = s[2:], 16; s == "" {
			return 0, nil
		}
	case len(s) > 1 && s[0] == '0':
		s, base = s[1:], 8
	}
	if strings.ContainsAny(s, "+-_") {
		return 0, errIPv4
	}
	return strconv.ParseUint(s, base, 33)
}

func (t *target) defaultPort() int {
	if t.scheme == "https" {
		return 443
	}
	return 80
}

// toPort is the port to connect to.
func (t *target) toPort() uint16 {
	if t.port == 0 {
		return uint16(t.defaultPort())
	}
	return t.port
}

// address is what to connect to.
func (t *target) address() string { return net.JoinHostPort(t.host, strconv.Itoa(int(t.toPort()))) }

// hostport is the host as a header and a URL have it.
func (t *target) hostport() string {
	host := t.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if t.port != 0 {
		host += ":" + strconv.Itoa(int(t.port))
	}
	return host
}

func (t *target) origin() string { return t.scheme + "://" + t.hostport() }

// String is the URL without user and password.
func (t *target) String() string { return t.origin() + t.path }

// resolve returns the URL to which a Location leads from t.
func (t *target) resolve(location string) (*target, error) {
	location = strings.TrimSpace(location)
	if _, _, ok := weburl.CutScheme(location); ok {
		return parseTarget(location)
	}
	location, _, _ = strings.Cut(location, "#")
	base, _, _ := strings.Cut(t.path, "?")
	switch slashes := strings.ReplaceAll(location, `\`, "/"); {
	case strings.HasPrefix(slashes, "//"):
		return parseTarget(t.scheme + ":" + location)
	case strings.HasPrefix(slashes, "/"):
		return parseTarget(t.origin() + location)
	case strings.HasPrefix(location, "?"):
		return parseTarget(t.origin() + base + location)
	case location == "":
		return parseTarget(t.String())
	}
	return parseTarget(t.origin() + base[:strings.LastIndexByte(base, '/')+1] + location)
}
