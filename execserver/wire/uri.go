package wire

import (
	"runtime"
	"strings"

	"github.com/hostsup/hostsup/execserver/internal/weburl"
)

// URI is a path on the wire: a file: URI in its normal form.
type URI string

// FileURI returns the URI of an absolute path of this system. Bytes that are not
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
	// A percent sign of a path is not the start of an escape.
	return URI("file://" + weburl.Escape(path, "\"#<>?`{}^%\\"))
}

// ParseURI parses a URI, which must be a file: URI, and resolves its dots. The
// errors are details of -32602.
func ParseURI(s string) (URI, error) {
	scheme, rest, ok := weburl.CutScheme(weburl.Trim(s))
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
	u := URI("file://" + host + weburl.CleanPath(rest))
	if strings.Contains(string(u), "%00") {
		return "", decodeError("'" + string(u) + "' is invalid on '" + OSName() + "'")
	}
	return u, nil
}

// Native returns the path on this system. The error is -32600.
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
	path := weburl.Unescape(rest)
	if strings.IndexByte(path, 0) >= 0 {
		return bad()
	}
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	if windows {
		if len(path) < 3 || path[2] != ':' {
			return bad()
		}
		path = strings.ReplaceAll(path[1:], "/", `\`)
	}
	return path, nil
}

// hasDrive reports whether a path begins with a drive of Windows.
func hasDrive(path string) bool {
	return len(path) >= 3 && 'a' <= path[1]|0x20 && path[1]|0x20 <= 'z' && path[2] == ':' && (len(path) == 3 || path[3] == '/')
}

// OSName returns the name that the protocol has for this system.
func OSName() string {
	if runtime.GOOS == "darwin" {
		return "macos"
	}
	return runtime.GOOS
}

func (u *URI) decodeWire(raw []byte) error {
	s, err := text(raw)
	if err != nil {
		return err
	}
	*u, err = ParseURI(s)
	return err
}
