package lists

import (
	"cmp"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// placeholders matches everything that some program replaces.
var placeholders = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{([^{}]*)\}|\{(env|file):([^{}]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)`)
})

// variable matches NAME and NAME:-default.
var variable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)(:-(.*))?$`)
})

// text replaces in s what the program replaces. unknown reports that something of it is
// left, because only the program knows its value.
func (l *list) text(s string) (t Text, unknown bool) {
	d := dialects[l.program]
	end := 0
	for _, m := range placeholders().FindAllStringSubmatchIndex(s, -1) {
		t = t.with(s[end:m[0]])
		end = m[1]
		group := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return s[m[2*i]:m[2*i+1]]
		}
		var part Part
		var known bool
		switch {
		case m[2] >= 0:
			part, known = l.braced(d, group(1))
			unknown = unknown || !known
		case m[4] >= 0:
			known = d.curly && group(2) == "env" && variable().MatchString(group(3))
			part = Part{Env: group(3)}
			unknown = unknown || d.curly && !known
		default:
			known = d.dollar || d.whole && m[0] == 0 && m[1] == len(s)
			part = Part{Env: group(4)}
		}
		switch {
		case !known:
			t = t.with(s[m[0]:m[1]])
		case part.IsLiteral():
			t = t.with(part.Words)
		default:
			t = append(t, part)
		}
	}
	return t.with(s[end:]), unknown
}

// braced returns what ${name} stands for.
func (l *list) braced(d dialect, name string) (Part, bool) {
	if env, ok := strings.CutPrefix(name, "env:"); ok {
		return Part{Env: env}, d.env && variable().MatchString(env) && !strings.Contains(env, ":-")
	}
	if id, ok := strings.CutPrefix(name, "input:"); ok && d.inputs {
		return l.input(id)
	}
	if d.folders {
		switch name {
		case "workspaceFolder", "workspaceRoot", "cwd":
			return Part{Words: l.workspace}, true
		case "workspaceFolderBasename":
			return Part{Words: filepath.Base(l.workspace)}, true
		case "userHome":
			return Part{Words: l.from.Home}, l.from.Home != ""
		case "pathSeparator", "/":
			return Part{Words: string(filepath.Separator)}, true
		}
	}
	m := variable().FindStringSubmatch(name)
	switch {
	case !d.braces || m == nil:
		return Part{}, false
	case l.program == Claude && m[1] == "CLAUDE_PROJECT_DIR": // set by the program itself
		return Part{Words: l.workspace}, true
	}
	return Part{Env: m[1], HasDefault: m[2] != "", Default: m[3]}, true
}

// input is a value that VS Code asks its user for.
type input struct {
	ID          string   `json:"id"`
	Type        string   `json:"type"`
	Description string   `json:"description"`
	Default     string   `json:"default"`
	Password    bool     `json:"password"`
	Options     []option `json:"options"`
}

// gaps matches what the name of a secret or of a variable must not contain.
var gaps = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9]+`) })

// input returns what ${input:id} stands for: a secret if it is typed unseen, the value
// that VS Code proposes, or else a variable.
func (l *list) input(id string) (Part, bool) {
	for _, in := range l.inputs {
		if in.ID != id {
			continue
		}
		about := cmp.Or(in.Description, id)
		first := in.Default
		if first == "" && len(in.Options) > 0 {
			first = in.Options[0].value
		}
		name := strings.Trim(gaps().ReplaceAllString(id, "-"), "-")
		switch {
		case name == "":
			return Part{}, false
		case in.Password:
			return Part{Secret: name, About: about}, true
		case in.Type == "command":
			return Part{}, false
		case first != "":
			l.note("VS Code asks for %q; here it has the value that VS Code proposes.", about)
			return Part{Words: first}, true
		}
		name = strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if name[0] >= '0' && name[0] <= '9' {
			name = "INPUT_" + name
		}
		l.note("VS Code asks for %q; here it is the value of %s where the supervisor is started.", about, name)
		return Part{Env: name}, true
	}
	return Part{}, false
}
