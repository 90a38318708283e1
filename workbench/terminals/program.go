package terminals

import (
	"cmp"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/workbench"
)

// program is what runs in a terminal.
type program struct {
	args    []string
	dir     string // "": that of the host
	environ func(env []string) []string
}

// shell is the program of a terminal that names none.
const shell = "/bin/sh"

// programOf returns the program of a new terminal.
func (s *Service) programOf(c *workbench.Call, l launch) (program, error) {
	p := program{environ: environOf(l.Env, l.StrictEnv)}
	var err error
	if p.dir, err = s.dirOf(l.Cwd); err != nil {
		return p, err
	}
	var args []string
	if len(l.ShellArgs) > 0 && json.Unmarshal(l.ShellArgs, &args) != nil {
		return p, workbench.Invalid("window.createTerminal: shellArgs: a list of texts expected, %.40q", l.ShellArgs)
	}
	spec := c.Host.Spec()
	p.args = append([]string{cmp.Or(l.ShellPath, spec.Env["SHELL"], shell)}, args...)
	return p, nil
}

// dirOf returns a folder that is given as a path or a URI.
func (s *Service) dirOf(raw json.RawMessage) (string, error) {
	var path string
	var uri workbench.URI
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return s.opt.Folder(), nil
	case json.Unmarshal(raw, &path) == nil:
		if path != "" && !filepath.IsAbs(path) {
			path = filepath.Join(s.opt.Folder(), path)
		}
		return cmp.Or(path, s.opt.Folder()), nil
	case json.Unmarshal(raw, &uri) == nil:
		if path, ok := uri.FilePath(); ok {
			return path, nil
		}
	}
	return "", workbench.Invalid("a terminal's folder: a path or a file: URI expected, %.80q", raw)
}

// environOf returns what changes an environment: values that are nil are removed. A strict one is
// all that there is.
func environOf(set map[string]*string, strict bool) func(env []string) []string {
	return func(env []string) []string {
		if strict {
			env = nil
		}
		if !strict || set["TERM"] == nil {
			env = with(env, "TERM", "xterm-256color")
		}
		for _, name := range slices.Sorted(maps.Keys(set)) {
			if v := set[name]; v != nil {
				env = with(env, name, *v)
			} else {
				env = slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
			}
		}
		return env
	}
}

// with sets a variable.
func with(env []string, name, value string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(e string) bool { return strings.HasPrefix(e, name+"=") })
	return append(env, name+"="+value)
}

// change is what an extension changes in the environment of all terminals
// (EnvironmentVariableMutator).
type change struct {
	Variable string
	Value    string
	Type     int // 1 replace, 2 append, 3 prepend
}

// environ answers $setEnvironmentVariableCollection: the extension, whether it is to be kept, which
// it is for the life, and the changes as pairs of a name and a change.
func (s *Service) environ(c *workbench.Call) (any, error) {
	var extension string
	var pairs [][2]json.RawMessage
	if err := c.Args(&extension, nil, &pairs); err != nil {
		return nil, err
	}
	var list []change
	for _, pair := range pairs {
		var ch change
		var name string
		if json.Unmarshal(pair[1], &ch) != nil || json.Unmarshal(pair[0], &name) != nil || ch.Type < 1 || ch.Type > 3 {
			return nil, workbench.Invalid("%s: a variable and its change expected, %.80q", c.Method, pair[1])
		}
		ch.Variable = cmp.Or(ch.Variable, name)
		list = append(list, ch)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// Terminals that are being started may use the old map.
	all := maps.Clone(s.environs[c.Host.Name()])
	if all == nil {
		all = map[string][]change{}
	}
	if all[extension] = list; len(list) == 0 {
		delete(all, extension)
	}
	if n := weight(all); n > maxEnviron || len(all) > maxCollections {
		return nil, workbench.Invalid("ExtensionContext.environmentVariableCollection: the extensions of the host have %d collections of %d bytes, limits %d and %d",
			len(all), n, maxCollections, maxEnviron)
	}
	s.environs[c.Host.Name()] = all
	return nil, nil
}

// weight returns about how many bytes the changes of extensions take.
func weight(all map[string][]change) (n int) {
	for extension, list := range all {
		n += len(extension)
		for _, ch := range list {
			n += len(ch.Variable) + len(ch.Value) + 64
		}
	}
	return n
}

// applied applies the changes of all extensions, in the order of their ids.
func applied(changes map[string][]change, env []string) []string {
	for _, extension := range slices.Sorted(maps.Keys(changes)) {
		for _, ch := range changes[extension] {
			before := ""
			for _, e := range env {
				if v, ok := strings.CutPrefix(e, ch.Variable+"="); ok {
					before = v
				}
			}
			switch ch.Type {
			case 1:
				env = with(env, ch.Variable, ch.Value)
			case 2:
				env = with(env, ch.Variable, before+ch.Value)
			case 3:
				env = with(env, ch.Variable, ch.Value+before)
			}
		}
	}
	return env
}
