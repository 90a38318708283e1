package wire

import (
	"runtime"
	"strings"
)

// URI is a path as the wire has it: a file: URI in its normal form.
type URI string

// FileURI is the URI of an absolute path of this system. Bytes that are no
// UTF-8 are kept.
func FileURI(path string) URI { return FileURIOn(OSName(), path) }

// FileURIOn is FileURI for a system with an OSName.
func FileURIOn(osName, path string) URI {
	if osName == "windows" {
		path = strings.ReplaceAll(path, `\`, "/")
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	b := make([]byte, 0, len(path)+16)
	b = append(b, "file://"...)
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' { // a percent sign of a path is not the start of an escape
			b = append(b, "%25"...)
			continue
		}
		if c == '\\' {
			b = append(b, "%5C"...)
			continue
		}
		b = appendEscaped(b, c)
	}
	return URI(b)
}

// ParseURI reads a URI: it must be a file: URI. Dots are resolved. The errors
// are details of -32602.
func ParseURI(s string) (URI, error) {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	s = strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, s)
	scheme, rest, ok := cutScheme(s)
	if !ok {
		return "", decodeError("invalid URI: relative URL without a base")
	}
	if scheme != "file" {
		return "", decodeError("unsupported path URI scheme `" + scheme + "`")
	}
	rest, _, fragment := strings.Cut(rest, "#")
	rest, _, query := strings.Cut(rest, "?")
	switch {
	case query:
		return "", decodeError("query parameters are not allowed in path URIs")
	case fragment:
		return "", decodeError("fragments are not allowed in path URIs")
	}
	rest = strings.ReplaceAll(rest, `\`, "/")
	host := ""
	if strings.HasPrefix(rest, "//") {
		rest = rest[2:]
		i := strings.IndexByte(rest, '/')
		if i < 0 {
			i = len(rest)
		}
		host, rest = strings.ToLower(rest[:i]), rest[i:]
		if strings.ContainsAny(host, "@:<>^|") && !strings.HasPrefix(host, "[") {
			return "", decodeError("invalid URI: invalid international domain name")
		}
		if host == "localhost" {
			host = ""
		}
	}
	b := append([]byte("file://"), host...)
	u := URI(appendPath(b, rest))
	if strings.Contains(string(u), "%00") {
		return "", decodeError("'" + string(u) + "' is invalid on '" + OSName() + "'")
	}
	return u, nil
}

func cutScheme(s string) (scheme, rest string, ok bool) {
	scheme, rest, ok = strings.Cut(s, ":")
	if !ok || scheme == "" {
		return "", "", false
	}
	for i, c := range []byte(scheme) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || !('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.')) {
			return "", "", false
		}
	}
	return strings.ToLower(scheme), rest, true
}

// appendPath appends path with its dots resolved.
func appendPath(b []byte, path string) []byte {
	var parts []string
	all := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, p := range all {
		last := i == len(all)-1
		switch strings.ReplaceAll(strings.ToLower(p), "%2e", ".") {
		case "..":
			if len(parts) > 0 {
				parts = parts[:len(parts)-1]
			}
		case ".":
		default:
			parts = append(parts, p)
			continue
		}
		if last {
			parts = append(parts, "")
		}
	}
	if len(parts) == 0 {
		return append(b, '/')
	}
	for _, p := range parts {
		b = append(b, '/')
		for i := 0; i < len(p); i++ {
			b = appendEscaped(b, p[i])
		}
	}
	return b
}

const hexDigits = "0123456789ABCDEF"

func appendEscaped(b []byte, c byte) []byte {
	if c <= ' ' || c >= 0x7f || strings.IndexByte("\"#<>?`{}^", c) >= 0 {
		return append(b, '%', hexDigits[c>>4], hexDigits[c&15])
	}
	return append(b, c)
}

// Native is the path on this system. The error is -32600.
func (u URI) Native() (string, *Error) { return u.NativeOn(OSName()) }

// NativeOn is Native for a system with an OSName.
func (u URI) NativeOn(osName string) (string, *Error) {
	windows := osName == "windows"
	rest := strings.TrimPrefix(string(u), "file://")
	bad := func() (string, *Error) {
		return "", InvalidRequest("'%s' is invalid on '%s'", string(u), osName)
	}
	if !strings.HasPrefix(rest, "/") {
		return bad()
	}
	if !windows && hasDrive(rest) {
		u = URI("file:///" + strings.ToUpper(rest[1:2]) + rest[2:])
		return bad()
	}
	out := make([]byte, 0, len(rest))
	for i := 0; i < len(rest); i++ {
		c := rest[i]
		if c == '%' && i+2 < len(rest) {
			hi, lo := unhex(rest[i+1]), unhex(rest[i+2])
			if hi >= 0 && lo >= 0 {
				c = byte(hi<<4 | lo)
				i += 2
			}
		}
		if c == 0 {
			return bad()
		}
		out = append(out, c)
	}
	if len(out) > 1 && out[len(out)-1] == '/' {
		out = out[:len(out)-1]
	}
	if windows {
		if len(out) < 3 || out[2] != ':' {
			return bad()
		}
		return strings.ReplaceAll(string(out[1:]), "/", `\`), nil
	}
	return string(out), nil
}

// hasDrive reports whether a path begins with a drive of Windows.
func hasDrive(path string) bool {
	return len(path) >= 3 && 'a' <= path[1]|0x20 && path[1]|0x20 <= 'z' && path[2] == ':' && (len(path) == 3 || path[3] == '/')
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// OSName is this system in the words of the protocol.
func OSName() string {
	if runtime.GOOS == "darwin" {
		return "macos"
	}
	return runtime.GOOS
}

func (u *URI) decodeWire(_ *decoder, raw []byte) error {
	s, err := text(raw)
	if err != nil {
		return err
	}
	*u, err = ParseURI(s)
	return err
}
