//go:build unix

package guard

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Readers of paths and URIs, each as one kind of program has it, written without
// regard to how the guard reads. They return "" for what names no file to them.
var readers = map[string]func(text string) string{
	"the kernel": func(text string) string { return text },
	"a program that cleans paths": func(text string) string {
		if !filepath.IsAbs(text) {
			return ""
		}
		return filepath.Clean(text)
	},
	"a program that cuts file:// off": func(text string) string {
		rest, is := strings.CutPrefix(text, "file://")
		if !is {
			return ""
		}
		rest, err := url.PathUnescape(rest)
		if err != nil {
			return ""
		}
		return rest
	},
	"net/url": func(text string) string {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "file" {
			return ""
		}
		return u.Path
	},
	"a browser":   browser,
	"VS Code":     editor,
	"Windows API": func(text string) string { return strings.ReplaceAll(text, `\`, "/") },
}

// browser reads file URIs by the URL standard.
func browser(text string) string {
	text = strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
	text = strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(text)
	if len(text) < 5 || !strings.EqualFold(text[:5], "file:") {
		return ""
	}
	rest, _, _ := strings.Cut(text[5:], "#")
	rest, _, _ = strings.Cut(rest, "?")
	rest = strings.ReplaceAll(rest, `\`, "/")
	if strings.HasPrefix(rest, "//") {
		host, path, _ := strings.Cut(rest[2:], "/")
		if host != "" && !strings.EqualFold(host, "localhost") {
			return ""
		}
		rest = "/" + path
	}
	path, err := url.PathUnescape("/" + rest)
	if err != nil {
		return ""
	}
	return path
}

var uriParts = regexp.MustCompile(`(?s)^(?:([^:/?#]+?):)?(?://([^/?#]*))?([^?#]*)`)

// editor reads as URI.parse and fsPath of VS Code do.
func editor(text string) string {
	m := uriParts.FindStringSubmatch(text)
	if m == nil || m[1] != "" && !strings.EqualFold(m[1], "file") {
		return ""
	}
	path, err := url.PathUnescape(m[3])
	if err != nil {
		path = m[3]
	}
	if !strings.HasPrefix(path, "/") {
		if m[1] == "" {
			return ""
		}
		path = "/" + path
	}
	if m[2] != "" && len(path) > 1 && !strings.EqualFold(m[2], "localhost") { // which is this machine
		return "//" + m[2] + path
	}
	return path
}

// leadsOut asks the kernel whether a path is outside of a folder, whose own path
// has no links, through this many links that point to nothing. Of one that does not exist the nearest ancestor that does counts.
func leadsOut(path, folder string, links int) bool {
	for at := strings.TrimRight(path, "/"); ; at = strings.TrimRight(at[:strings.LastIndex(at, "/")], "/") {
		if at == "" {
			return true
		}
		if info, err := os.Lstat(at); err == nil && info.Mode().Type() == os.ModeSymlink {
			if _, err := os.Stat(at); err != nil { // what it points to is what would be made
				to, err := os.Readlink(at)
				if err != nil {
					return false
				}
				if !filepath.IsAbs(to) {
					to = at[:strings.LastIndex(at, "/")+1] + to
				}
				return links > 0 && leadsOut(to, folder, links-1) // a loop leads nowhere
			}
		}
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return real != folder && !strings.HasPrefix(real, folder+"/")
		}
	}
}

// FuzzParams holds the guard to two things. What it lets through names no file
// outside of the roots to any of the readers, wherever it stands. What cannot be
// read as a path by any of them is not refused.
func FuzzParams(f *testing.F) {
	top, r := tree(f)
	ws := top + "/ws"
	for _, text := range []string{
		"@/ws/a.txt", "@/ws/../beside", "file://@/ws/in/../../beside/secret", "file:@/beside", "FILE://localhost@/ws/out/secret", "file:///@/ws/%2e%2e/beside", "@/ws/%252e%252e/beside", "file:\\\\@\\beside",
		"@/ws\\..\\beside", "@/ws/in?/../..", " @/beside", "fi\tle://@/beside", "@/ws/later#x", "file:///@/ws/up?x", "hello", "a: b", "and/or", "~/x", "C:\\x", "../x", "jar:file://@/beside!/x", "@/ws/src/back", "@/ws/ping/x", "@/ws/loop", "@/ws/in/../..", "@/ws/new",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ReplaceAll(text, "@", top)
		if len(text) > 4096 || strings.Count(text, top) > 4 {
			return
		}
		as := func(shape string) error {
			return refused(t, r, "any", false, strings.Replace(shape, "%s", quote(text), 1))
		}
		written := strings.ToValidUTF8(text, "\ufffd") // what quote makes of it
		text = written
		uri, path, free, name := as(`{"uri":%s}`), as(`[{"path":[%s]}]`), as(`[1,%s]`), as(`{"a":[{%s:1}]}`)
		for who, read := range readers {
			named := read(text)
			if !filepath.IsAbs(named) || strings.ContainsRune(named, 0) || !leadsOut(named, ws, 40) {
				continue
			}
			if uri == nil {
				t.Errorf("%q as a URI is let through; to %s it is %q", text, who, named)
			}
			if path == nil {
				t.Errorf("%q as a path is let through; to %s it is %q", text, who, named)
			}
			if free == nil && (isCandidate(text) || strings.HasPrefix(text, top) && oneLine(text)) {
				t.Errorf("%q is let through; to %s it is %q", text, who, named)
			}
		}
		if (free == nil) != (name == nil) {
			t.Errorf("%q: %v as a value, %v as a name", text, free, name)
		}
		plain := strings.ToLower(strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(text))
		if free != nil && !strings.ContainsAny(text, `/\`) && !strings.Contains(plain, "file:") {
			t.Errorf("%q: %v", text, free)
		}
		if path == nil && uri != nil {
			t.Errorf("%q is let through as a path, and refused as a URI: %v", text, uri)
		}
	})
}
