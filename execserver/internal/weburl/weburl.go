// Package weburl has what file: URIs and the URLs of HTTP requests share of the
// URL standard that browsers follow. All functions are pure.
package weburl

import (
	"strconv"
	"strings"
)

// Trim removes what parsers of URLs ignore: control characters and spaces at both
// ends, and tabs and line ends anywhere.
func Trim(s string) string {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	return ignored.Replace(s)
}

var ignored = strings.NewReplacer("\t", "", "\n", "", "\r", "")

// CutScheme cuts the scheme off, which it returns in lower case. ok is false for
// a relative URL.
func CutScheme(s string) (scheme, rest string, ok bool) {
	scheme, rest, ok = strings.Cut(s, ":")
	if !ok || scheme == "" {
		return "", "", false
	}
	for i, c := range []byte(scheme) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '+' && c != '-' && c != '.') {
			return "", "", false
		}
	}
	return strings.ToLower(scheme), rest, true
}

// CleanPath returns an absolute path with its dots resolved, and escaped where
// needed. A slash at the front of path is ignored.
func CleanPath(path string) string {
	var parts []string
	all := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, p := range all {
		switch strings.ReplaceAll(strings.ToLower(p), "%2e", ".") {
		case "..":
			parts = parts[:max(len(parts)-1, 0)]
		case ".":
		default:
			parts = append(parts, p)
			continue
		}
		if i == len(all)-1 {
			parts = append(parts, "")
		}
	}
	return "/" + Escape(strings.Join(parts, "/"), "\"#<>?`{}^")
}

// Escape escapes spaces, control characters, everything beyond ASCII, and the
// characters of special.
func Escape(s, special string) string {
	const hex = "0123456789ABCDEF"
	var b []byte
	done := 0 // bytes of s that are in b
	for i, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(special, c) >= 0 {
			b = append(append(b, s[done:i]...), '%', hex[c>>4], hex[c&15])
			done = i + 1
		}
	}
	if b == nil {
		return s
	}
	return string(append(b, s[done:]...))
}

// Unescape replaces escapes by the bytes they stand for. Anything else that looks
// like an escape is kept.
func Unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
