package guard

import (
	"bytes"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fileSchemes are those of URIs whose path is a file of this machine. Those of
// VS Code but file stand for files that the editor shows in another way.
var fileSchemes = []string{"file", "vscode-file", "vscode-local", "vscode-userdata", "vscode-notebook-cell", "untitled", "git"}

func isFileScheme(scheme string) bool {
	return slices.Contains(fileSchemes, scheme) || strings.HasSuffix(scheme, "+file")
}

// longest is how many bytes a path may have, once what says nothing is left out
// of it: no longer one can be opened.
const longest = 4096

// isBlank says whether readers of URIs and paths leave a character out where a
// text begins and ends.
func isBlank(r rune) bool { return r <= ' ' || unicode.IsSpace(r) }

func oneLine(text string) bool { return !strings.ContainsAny(text, "\r\n") }

// cutScheme returns the scheme of a URI in lower case, and what follows it; ""
// for a text without one. A single letter is a drive and no scheme.
func cutScheme(text string) (scheme, rest string) {
	for i := range len(text) {
		switch c := text[i] | 0x20; {
		case c >= 'a' && c <= 'z':
		case i > 0 && (text[i] >= '0' && text[i] <= '9' || text[i] == '+' || text[i] == '-' || text[i] == '.'):
		case text[i] == ':' && i > 1 && i <= 64:
			return strings.ToLower(text[:i]), text[i+1:]
		default:
			return "", text
		}
	}
	return "", text
}

// fileURI returns the URI of a file that a text is, as those read it who leave
// out what no URI has: blanks around it, tabs and line breaks anywhere. In
// jar:file:///a.zip!/b that is what follows jar:. "file: not found" is a text.
func fileURI(text string) (scheme, uri string, is bool) {
	text = strings.TrimFunc(text, isBlank)
	if strings.ContainsAny(text[:min(len(text), 256)], "\t\r\n") || !oneLine(text) && colonSoon(text) {
		text = strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(text)
	}
	for nested := false; ; nested = true {
		var rest string
		if scheme, rest = cutScheme(text); scheme == "" {
			return "", "", false
		}
		if rooted := strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, `\`); isFileScheme(scheme) && (rooted || !nested) {
			return scheme, text, rest != "" && rest[0] != ' '
		}
		text = rest
	}
}

func colonSoon[T string | []byte](text T) bool {
	for i := range min(len(text), 256) {
		if text[i] == ':' {
			return true
		}
	}
	return false
}

// mayBeURI returns false for a text that is certainly not the URI of a file.
func mayBeURI(text []byte) bool { return colonSoon(bytes.TrimLeftFunc(text, isBlank)) }

// mayBeCandidate is a quick check: where it returns false, isCandidate does too.
func mayBeCandidate(text []byte) bool {
	text = bytes.TrimLeftFunc(text, isBlank)
	return len(text) > 1 && (text[0] == '/' || text[0] == '~' || text[0] == '\\' || colonSoon(text) || bytes.Contains(text, []byte("..")))
}

// isWholeURI says whether a text is the URI of a file from its first character to
// its last.
func isWholeURI(text string) bool {
	_, uri, is := fileURI(text)
	if !is || strings.ContainsFunc(strings.TrimFunc(text, isBlank), unicode.IsSpace) {
		return false
	}
	_, rest := cutScheme(uri)
	return rest[0] == '/' || rest[0] == '\\'
}

// isCandidate says whether a string may name a file to whoever reads it, although
// nothing but the string says so. It is false for:
//
//   - what has several lines, unless a file URI stands there
//   - separators alone, and what begins with a slash and a character that no name
//     begins with, if it has a blank or no other slash: / and // and /* a comment
//   - what is longer than a path may be
//   - relative names that do not go up
func isCandidate(text string) bool {
	if _, _, is := fileURI(text); is {
		return true
	}
	text = strings.TrimFunc(text, isBlank)
	if len(text) < 2 || !oneLine(text) {
		return false
	}
	if len(text) > longest && len(path.Clean(strings.ReplaceAll(text, `\`, "/"))) > longest {
		return false
	}
	separator := func(i int) bool { return i < len(text) && (text[i] == '/' || text[i] == '\\') }
	switch letter := text[0] | 0x20; {
	case text[0] == '/':
		return isAbsolute(text)
	case text[0] == '~':
		user := strings.TrimLeftFunc(text[1:], func(r rune) bool {
			return r == '-' || r == '_' || r == '.' || unicode.IsLetter(r) || unicode.IsDigit(r)
		})
		return separator(1) || separator(len(text)-len(user)) && !unicode.IsDigit(rune(text[1]))
	case letter >= 'a' && letter <= 'z' && text[1] == ':' && separator(2):
		return true
	case text[0] == '\\' && text[1] == '\\':
		server, share, found := strings.Cut(strings.ReplaceAll(text[2:], "/", `\`), `\`)
		return found && server != "" && share != "" && !strings.ContainsFunc(server, unicode.IsSpace)
	case text[:2] == "..":
		return separator(2)
	}
	if _, rest := cutScheme(text); rest != text && strings.HasPrefix(rest, "//") {
		return false // a URI of something else
	}
	return goesUp(text) && !strings.ContainsFunc(text, unicode.IsSpace)
}

// isAbsolute is isCandidate for what begins with a slash.
func isAbsolute(text string) bool {
	names := strings.TrimLeft(text, "/")
	if first, _ := utf8.DecodeRuneInString(names); names == "" || begins(first) {
		return names != ""
	}
	if strings.ContainsFunc(text, unicode.IsSpace) {
		return false
	}
	for name := range strings.SplitSeq(names, "/") {
		if first, _ := utf8.DecodeRuneInString(name); name != "" && begins(first) {
			return true
		}
	}
	return false
}

// begins says whether names begin with a character.
func begins(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r > unicode.MaxASCII || strings.ContainsRune("._~-@$%+,=#:", r)
}

// goesUp says whether a path has .. between separators.
func goesUp(text string) bool {
	if !strings.Contains(text, "..") || !strings.ContainsAny(text, `/\`) {
		return false
	}
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '\\' }), "..")
}

// unescape replaces %41 and its like, and leaves what is no such escape.
func unescape(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if c, err := url.PathUnescape(text[i : i+3]); err == nil {
				out = append(out, c...)
				i += 2
				continue
			}
		}
		out = append(out, text[i])
	}
	return string(out)
}

// maxReadings bounds the ways in which one path is read.
const maxReadings = 32

// check returns nil when text leads into a root however it is read; see
// [PathRules.Check]. steps are the names that may still be looked up.
func (r *PathRules) check(text string, steps *int) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("%w: not UTF-8, so that not everybody reads the same", ErrNotPath)
	}
	if len(text) > 16*longest {
		return fmt.Errorf("%w: %d bytes", ErrNotPath, len(text))
	}
	scheme, uri, isURI := fileURI(text)
	if isURI && !oneLine(strings.TrimFunc(text, isBlank)) { // also one URI a line
		for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
			if _, _, is := fileURI(line); is {
				if err := r.check(line, steps); err != nil {
					return err
				}
			}
		}
	}
	var first string
	var err error
	switch {
	case isURI && scheme == "file":
		first, err = toPath(uri)
	case isURI:
		if first, err = pathOf(uri); first == "" {
			return err
		}
	default:
		first, err = toPath(text)
	}
	if err != nil {
		return err
	}
	all := r.readings(first)
	if blanks := text[len(strings.TrimRightFunc(text, isBlank)):]; isURI && blanks != "" {
		all = append(all, r.readings(first+blanks)...) // to some readers they are the end of the name
	}
	if len(all) > maxReadings {
		return fmt.Errorf("%w: it can be read in more than %d ways", ErrNotPath, maxReadings)
	}
	for _, reading := range all {
		if strings.ContainsRune(reading, 0) {
			return fmt.Errorf("%w: it has a zero byte", ErrNotPath)
		}
		if _, err := r.locate(reading, steps); err != nil {
			return err
		}
	}
	return nil
}

// pathOf returns the path of a URI with another file scheme than file; "" when it
// has none that is absolute, such as untitled:one.
func pathOf(uri string) (string, error) {
	if _, rest := cutScheme(uri); strings.HasPrefix(rest, `\`) {
		return "", fmt.Errorf("%w: the URI has backslashes", ErrNotPath)
	}
	u, err := url.Parse(uri)
	if err != nil {
		return "", fmt.Errorf("%w: the URI is malformed", ErrNotPath)
	}
	if u.Opaque != "" {
		if name := unescape(u.Opaque); goesUp(name) || strings.HasPrefix(name, "/") {
			return "", fmt.Errorf("%w: the path of the URI is relative", ErrNotPath)
		}
	}
	return u.Path, nil
}

// readings returns the paths that a path may be to those who read it: as it is,
// with escapes of URIs replaced (once more, where it comes from a URI), cut where
// a URI's query or fragment or the path in an archive would begin, with
// backslashes for slashes, without blanks around it, with .. resolved before links
// are. What is read in other ways is what lies below the root:
// otherwise nothing would be within a root whose own name can be read so.
func (r *PathRules) readings(path string) []string {
	root := r.prefix(path)
	all := []string{path}
	add := func(rest string) {
		if whole := root + rest; len(all) <= maxReadings && !slices.Contains(all, whole) {
			all = append(all, whole)
		}
	}
	for i := 0; i < len(all); i++ {
		rest := all[i][len(root):]
		add(unescape(rest))
		if filepath.Separator == '/' {
			add(strings.ReplaceAll(rest, `\`, "/"))
		}
		add(strings.TrimRightFunc(rest, isBlank))
		if cut := strings.IndexAny(rest, "?#"); cut >= 0 {
			add(rest[:cut])
		}
		if archive, _, is := strings.Cut(rest, "!/"); is {
			add(archive)
		}
		add(strings.ToValidUTF8(rest, string(utf8.RuneError)))
	}
	for _, reading := range all {
		if goesUp(reading) { // .. takes away the name before it, also that of a link
			all = append(all, filepath.Clean(reading))
		}
	}
	return all
}

// prefix returns the longest root, by one of its names, that a path begins with;
// "" when there is none.
func (r *PathRules) prefix(path string) string {
	best := ""
	for _, root := range slices.Concat(r.roots, r.names) {
		root = strings.TrimSuffix(root, string(filepath.Separator))
		if rest, is := strings.CutPrefix(path, root); is && len(root) > len(best) && (rest == "" || rest[0] == filepath.Separator) {
			best = root
		}
	}
	return best
}
