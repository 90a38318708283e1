package search

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/workbench/glob"
)

// ignoreNames are files with patterns of what to ignore; the first that has something to say about
// a path decides.
var ignoreNames = []string{".rgignore", ".ignore", ".gitignore", ".git/info/exclude"}

// gitFrom is the index of the first of ignoreNames that ends at the root of a repository.
const gitFrom = 2

// ignoring has the ignore files of a folder and those above it.
type ignoring struct {
	above *ignoring
	dir   string // absolute, with slashes
	files [][]ignoreRule
	isTop bool // a repository's root
	size  int  // of all globs, with those above
}

// maxRules limits the globs of a folder's ignore files and those above it, in alternatives. Rules after
// that count for nothing: a host writes such files itself.
const maxRules = 100_000

// ignoreRule is a line of an ignore file.
type ignoreRule struct {
	not     bool
	folders bool // only folders
	glob    *glob.Glob
}

// ignoring reads the ignore files of a folder; above may be nil. may reports whether the folder may
// have a name.
func (f files) ignoring(dir string, above *ignoring, may func(name string) bool) *ignoring {
	if above != nil && !slices.ContainsFunc(ignoreNames, may) && !may(".git") {
		return above
	}
	n := &ignoring{above: above, dir: filepath.ToSlash(dir), files: make([][]ignoreRule, len(ignoreNames))}
	empty := true
	if above != nil {
		n.size = above.size
	}
	n.isTop = f.exists(filepath.Join(dir, ".git"))
	for i, name := range ignoreNames {
		if first, _, _ := strings.Cut(name, "/"); !may(first) {
			continue
		}
		if text, err := f.read(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
			var size int
			n.files[i], size = parseRules(string(text), maxRules-n.size)
			n.size += size
			empty = empty && len(n.files[i]) == 0
		}
	}
	if empty && !n.isTop && above != nil {
		return above
	}
	return n
}

// parents reads the ignore files of the folders above dir.
func (f files) parents(dir string) *ignoring {
	parent := filepath.Dir(dir)
	if parent == dir {
		return nil
	}
	return f.ignoring(parent, f.parents(parent), func(string) bool { return true })
}

// readGlobal reads the file of the user that git has by default.
func readGlobal(dir string) *ignoring {
	base, err := os.UserConfigDir()
	if err != nil {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(base, "git", "ignore"))
	if err != nil {
		return nil
	}
	return &ignoring{dir: filepath.ToSlash(dir), files: [][]ignoreRule{nil, nil, nil, parseIgnore(string(text))}}
}

// has reports whether a file or folder is ignored, and whether a rule is about it. file is
// absolute, with slashes.
func (n *ignoring) has(file string, isDir bool) (ignored, found bool) {
	for kind := range ignoreNames {
		for at := n; at != nil; at = at.above {
			rel := strings.TrimPrefix(strings.TrimPrefix(file, at.dir), "/")
			for i := len(at.files[kind]) - 1; i >= 0; i-- {
				r := at.files[kind][i]
				if (isDir || !r.folders) && r.glob.Match(rel) {
					return !r.not, true
				}
			}
			if at.isTop && kind >= gitFrom {
				break
			}
		}
	}
	return false, false
}

// parseIgnore reads the text of an ignore file.
func parseIgnore(text string) []ignoreRule {
	rules, _ := parseRules(text, maxRules)
	return rules
}

// parseRules reads the text of an ignore file, up to a number of alternatives; size is how many there
// are. Wrong lines are skipped, as git does.
func parseRules(text string, most int) (rules []ignoreRule, size int) {
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line = strings.TrimRight(line, "\r\n")
		for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
			line = line[:len(line)-1]
		}
		if line == "" || line[0] == '#' {
			continue
		}
		var r ignoreRule
		line, r.not = strings.CutPrefix(line, "!")
		line, r.folders = strings.CutSuffix(line, "/")
		anchored := strings.Contains(line, "/")
		line = strings.TrimPrefix(line, "/")
		if line == "" {
			continue
		}
		pattern := escapeIgnore(line)
		if !anchored {
			pattern = "**/" + pattern
		}
		if strings.HasSuffix(pattern, "/**") { // what is in the folder, not the folder
			pattern += "/*"
		}
		g, err := glob.Compile(pattern)
		if err != nil {
			continue
		}
		if size+g.Size() > most {
			break
		}
		size += g.Size()
		r.glob = g
		rules = append(rules, r)
	}
	return rules, size
}

// escapeIgnore makes a glob of a pattern of git, which has backslashes. Braces are alternatives, as
// they are for ripgrep; git has no braces.
func escapeIgnore(p string) string {
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		c := p[i]
		escaped := c == '\\' && i+1 < len(p)
		if escaped {
			i++
			c = p[i]
		}
		if escaped && strings.IndexByte("*?[{},", c) >= 0 || c == ' ' { // a glob has no space at its end
			b.WriteString("[" + string(c) + "]")
		} else {
			b.WriteByte(c)
		}
	}
	return path.Clean(b.String())
}
