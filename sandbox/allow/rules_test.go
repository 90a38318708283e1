package allow

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	good := []string{
		"db.example:5432", "DB.Example.:1", "*.example.com:443", "10.0.0.5:5432", "127.0.0.1:*",
		"[::1]:80", "[2001:4860:4860::8888]:53", "localhost:8080", "*:443", "*:*", "a_b.c-d:65535", "1password.com:443",
	}
	r, err := Parse(good)
	if err != nil {
		t.Fatal(err)
	}
	if r.String() != strings.Join(good, " ") {
		t.Error(r.String())
	}
	for s, want := range map[string]string{
		"":                               "it is empty",
		"db.example":                     "no port",
		"db.example:":                    "no port",
		":443":                           "no port",
		"https://db.example:443":         "it is a URL",
		"db.example:443/x":               "slash",
		"10.0.0.0/8:443":                 "slash",
		"db.example:0":                   "not a port",
		"db.example:65536":               "not a port",
		"db.example:+80":                 "not a port",
		"db.example:080":                 "not a port",
		"db.example:http":                "not a port",
		"db.example:80,443":              "not a port",
		"u@db.example:80":                "not host:port",
		"db example:80":                  "not host:port",
		"::1":                            "needs brackets",
		"::1:80":                         "needs brackets",
		"fe80::1%eth0:80":                "needs brackets",
		"[fe80::1%eth0]:80":              "with a zone",
		"[127.0.0.1]:80":                 "brackets",
		"[db.example]:80":                "brackets",
		"[::1:80":                        "no port",
		"0.0.0.0:80":                     "nothing can be connected",
		"[::]:80":                        "nothing can be connected",
		"224.0.0.1:80":                   "nothing can be connected",
		"127.1:80":                       "ends in a number",
		"0x7f000001:80":                  "ends in a number",
		"2130706433:80":                  "ends in a number",
		"1.2.3.4.5:80":                   "ends in a number",
		"127.0.0.01:80":                  "ends in a number",
		"a..b:80":                        "empty part",
		".:80":                           "no host",
		"-a.b:80":                        "hyphen",
		"a-.b:80":                        "hyphen",
		"exämple.com:80":                 "not ASCII",
		"a.*.com:80":                     "* stands only",
		"*a.com:80":                      "* stands only",
		"*.:80":                          "no host",
		"*.localhost:80":                 "below localhost",
		"a!b.com:80":                     `contains "!"`,
		strings.Repeat("a", 64) + ":80":  "longer than 63",
		strings.Repeat("a.", 150) + ":8": "longer than 253",
	} {
		_, err := Parse([]string{"ok.example:1", s})
		var ee *EntryError
		if !errors.As(err, &ee) || !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", s, err)
			continue
		}
		if ee.Index != 1 || ee.Value != s || !strings.Contains(ee.Reason, want) {
			t.Errorf("%q: %+v, want %q", s, ee, want)
		}
	}
	if _, err := Parse([]string{"a", "b"}); strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("want one line for each error: %v", err)
	}
}

func TestAllows(t *testing.T) {
	r, err := Parse([]string{"db.example:5432", "*.wild.example:443", "any.example:*", "10.0.0.5:5432", "[::1]:80", "localhost:8080", "192.0.2.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	for s, want := range map[string]bool{
		"db.example:5432": true, "DB.EXAMPLE.:5432": true, "db.example:5433": false, "x.db.example:5432": false, "b.example:5432": false,
		"a.wild.example:443": true, "a.b.wild.example:443": true, "wild.example:443": false, "notwild.example:443": false, "a.wild.example:80": false,
		"any.example:1": true, "any.example:65535": true,
		"10.0.0.5:5432": true, "::ffff:10.0.0.5:5432": true, "10.0.0.6:5432": false,
		"::1:80": true, "127.0.0.1:80": false,
		"localhost:8080": true, "127.0.0.1:8080": true, "127.9.9.9:8080": true, "::1:8080": true, "127.0.0.1:8081": false,
		"192.0.2.1:1": true, "db.example:0": false, "127.1:8080": false, "::1%lo:80": false,
	} {
		i := strings.LastIndexByte(s, ':')
		var port uint16
		for _, c := range s[i+1:] {
			port = port*10 + uint16(c-'0')
		}
		if got := r.Allows(s[:i], port); got != want {
			t.Errorf("%s: %v", s, got)
		}
	}
	any, err := Parse([]string{"*:443"})
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{"a.example": true, "8.8.8.8": true, "10.0.0.1": false, "127.0.0.1": false, "localhost": false, "::1": false} {
		if got := any.Allows(host, 443); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
	for host, want := range map[string]bool{"db.example": true, "x.wild.example": true, "any.example": true, "10.0.0.5": true, "localhost": true, "other.example": false, "10.0.0.6": false, "": false} {
		if got := r.Knows(host); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
	var none *Rules
	if none.Knows("a") {
		t.Error("nil rules know a host")
	}
	if none.Allows("a", 1) || new(Rules).Allows("a", 1) || none.Forwards() != nil || none.String() != "" {
		t.Error("nil rules allow a host")
	}
}

func TestForwards(t *testing.T) {
	r, err := Parse([]string{"127.0.0.1:8080", "localhost:8080", "db.example:5432", "DB.example:5433", "*.x.example:1", "*:2", "other.example:5432",
		"10.0.0.5:3", "[::1]:9", "127.0.0.1:*", "127.0.0.1:3128", "db.example:5432"})
	if err != nil {
		t.Fatal(err)
	}
	ap := netip.MustParseAddrPort
	want := []Forward{
		{ap("127.0.0.1:8080"), "127.0.0.1:8080", ""},
		{ap("[::1]:8080"), "localhost:8080", ""},
		{ap("127.64.0.1:5432"), "db.example:5432", "db.example"},
		{ap("127.64.0.1:5433"), "db.example:5433", "db.example"},
		{ap("127.64.0.2:5432"), "other.example:5432", "other.example"},
		{ap("[::1]:9"), "[::1]:9", ""},
	}
	if got := r.Forwards(); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	for _, f := range want {
		if _, err := ParseTarget(f.Target); err != nil {
			t.Error(err)
		}
	}
}

func TestClass(t *testing.T) {
	for s, want := range map[string]string{
		"8.8.8.8": "", "1.1.1.1": "", "172.15.0.1": "", "172.32.0.1": "", "100.63.0.1": "", "2606:4700::1111": "", "2a00::1": "",
		"0.0.0.0": "unspecified", "0.1.2.3": "this network", "::": "unspecified",
		"127.0.0.1": "loopback", "127.255.1.1": "loopback", "::1": "loopback",
		"10.1.2.3": "private", "172.16.0.1": "private", "192.168.1.1": "private", "fd00:ec2::254": "private", "fc00::1": "private",
		"169.254.169.254": "link-local", "fe80::1": "link-local", "fe80::1%eth0": "link-local",
		"224.0.0.1": "multicast", "ff02::1": "multicast",
		"100.100.100.200": "shared", "192.0.0.192": "reserved", "168.63.129.16": "metadata", "255.255.255.255": "reserved", "240.0.0.1": "reserved",
		"192.0.2.1": "documentation", "198.51.100.1": "documentation", "203.0.113.9": "documentation", "198.19.0.1": "benchmarking",
		"::ffff:127.0.0.1": "loopback", "::ffff:10.0.0.1": "private", "::ffff:8.8.8.8": "", "::ffff:0.0.0.0": "unspecified",
		"::127.0.0.1": "reserved", "::8.8.8.8": "reserved",
		"64:ff9b::127.0.0.1": "loopback", "64:ff9b::a00:1": "private", "64:ff9b::8.8.8.8": "", "64:ff9b:1::1": "reserved",
		"2001::1": "reserved", "2001:db8::1": "documentation", "2002:7f00:1::": "6to4", "fec0::1": "reserved", "100::1": "reserved",
		"3fff::1": "documentation", "5f00::1": "reserved", "4000::1": "reserved",
	} {
		if got := Class(netip.MustParseAddr(s)); got != want {
			t.Errorf("%s: %q, want %q", s, got, want)
		}
	}
	if Class(netip.Addr{}) == "" {
		t.Error("no address is public")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"db.example:5432", "*.a.b:*", "[::1]:80", "1.2.3.4:5", "*:*", "localhost:1", "a:b:c", "[::ffff:1.2.3.4]:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := Parse([]string{s})
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		if r.String() != s {
			t.Fatal("not as written")
		}
		// Forwarded targets are allowed, and String can be parsed again.
		for _, fw := range r.Forwards() {
			tg, err := ParseTarget(fw.Target)
			if err != nil || !r.Permits(tg) || !fw.Listen.Addr().IsLoopback() || fw.Listen.Port() == 0 {
				t.Fatal(fw, err)
			}
		}
		e := r.entries[0]
		if e.name != "" {
			if !r.Allows(e.name, max(e.port, 1)) || r.Allows("x."+e.name, max(e.port, 1)) {
				t.Fatal("not itself alone")
			}
		}
		if e.suffix != "" && (r.Allows(e.suffix[1:], max(e.port, 1)) || len(e.suffix) < 250 && !r.Allows("x"+e.suffix, max(e.port, 1))) {
			t.Fatal("not what is below it alone")
		}
	})
}
