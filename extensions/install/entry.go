package install

import (
	"io"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// entry is a file or folder of an extension.
type entry struct {
	name string // below the extension's folder, with slashes
	dir  bool
	exec bool   // may be run
	size int64  // bytes of a file
	sum  string // digest of the content, if it is known before it is copied
	open func() (io.ReadCloser, error)
}

const (
	maxName  = 255  // bytes of one element of a path, as file systems have it
	maxPath  = 1024 // bytes of a path
	maxDepth = 64
)

// nameRule returns the rule that a name breaks, "" if it is good. A good name means the same
// file below a folder on every system.
func nameRule(name string) string {
	switch {
	case name == "":
		return "a name expected, found an empty one"
	case !utf8.ValidString(name):
		return "a name in UTF-8 expected"
	case strings.Contains(name, `\`):
		return `slashes expected between folders, found \`
	case strings.HasPrefix(name, "/"):
		return "a path below the extension expected, found an absolute one"
	case len(name) > maxPath:
		return "a path of at most 1024 bytes expected"
	case strings.Count(name, "/") >= maxDepth:
		return "a path of at most 64 elements expected"
	}
	for element := range strings.SplitSeq(name, "/") {
		if rule := elementRule(element); rule != "" {
			return rule
		}
	}
	return ""
}

func elementRule(element string) string {
	switch {
	case element == "..":
		return `a path below the extension expected, found ".."`
	case element == "" || element == ".":
		return "a clean path expected, found an empty element or a dot"
	case len(element) > maxName:
		return "names of at most 255 bytes expected"
	case strings.ContainsFunc(element, unicode.IsControl):
		return "a name without control characters expected"
	case strings.ContainsAny(element, `<>:"|?*`):
		return `a name without <>:"|?* expected, which some systems refuse`
	case strings.HasSuffix(element, ".") || strings.HasSuffix(element, " "):
		return "a name that does not end in a dot or a space expected, which some systems drop"
	case isDevice(element):
		return "a name of a file expected, found that of a device on Windows"
	}
	return ""
}

// isDevice reports whether a name is one of a device on Windows, where an extension after it
// does not matter.
func isDevice(element string) bool {
	base, _, _ := strings.Cut(strings.ToLower(element), ".")
	switch base = strings.TrimRight(base, " "); base {
	case "con", "prn", "aux", "nul", "conin$", "conout$":
		return true
	}
	port, ok := strings.CutPrefix(base, "com")
	if !ok {
		port, ok = strings.CutPrefix(base, "lpt")
	}
	return ok && strings.Contains("\x00123456789¹²³", port) && utf8.RuneCountInString(port) == 1
}

// fold returns a name as systems that ignore case compare it.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, name)
}

// names finds names that would be one file on a system that ignores case.
type names map[string]struct {
	name string
	dir  bool
}

// add adds a name with the folders above it. It returns the rule that the name breaks.
func (n names) add(name string, dir bool) string {
	for at, isDir := name, dir; at != "."; at, isDir = path.Dir(at), true {
		key := fold(at)
		other, taken := n[key]
		switch {
		case !taken:
			n[key] = struct {
				name string
				dir  bool
			}{at, isDir}
			continue
		case other.name != at:
			return "names that differ in more than case expected, found " + other.name + " too"
		case !other.dir || !isDir:
			return "one entry of this name expected, found two"
		}
		return "" // the folders above are known
	}
	return ""
}
