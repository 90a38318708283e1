package denial

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// field names the policy's field that allows a kind; "" where it depends.
func (k Kind) field() string {
	switch k {
	case Stat, Read:
		return "read"
	case Write:
		return "write"
	case Exec:
		return "exec"
	case Device:
		return "devices"
	}
	return ""
}

// pathDenial is one that a path's grant would have spared.
func pathDenial(kind Kind, path string) Denial { return Denial{Kind: kind, Path: path} }

// complete fills in what follows from the rest.
func (d *Denial) complete(now time.Time) {
	if d.Count == 0 {
		d.Count = 1
	}
	if d.First.IsZero() {
		d.First = now
	}
	if d.Last.IsZero() {
		d.Last = now
	}
	if d.Field == "" {
		d.Field = d.Kind.field()
	}
	if d.Suggest == "" {
		g := []string{d.granted()}
		var p policy.Policy
		switch d.Field {
		case "read":
			p.Read = g
		case "write":
			p.Write = g
		case "exec":
			p.Exec = g
		case "devices":
			p.Devices = g
		case "allow":
			p.Network, p.Allow = policy.NetworkAllow, g
		default:
			return
		}
		if valid(p) {
			d.Suggest = line(d.Field, g[0])
		} else {
			d.Field = "" // what no policy may grant
		}
	}
}

// granted is the path, or the entry, that a policy would have to name.
func (d *Denial) granted() string {
	if d.Grant != "" {
		return d.Grant
	}
	return d.Path
}

// line is a field of a policy with one entry.
func line(field, value string) string { return field + " = [" + Quote(value) + "]" }

// Quote writes s as a string of the configuration language.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case (r == '$' || r == '%') && strings.HasPrefix(s[i+1:], "{"):
			b.WriteRune(r) // twice is once, and no template
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	b.WriteByte('"')
	return b.String()
}
