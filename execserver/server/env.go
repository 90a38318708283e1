package server

import (
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/execserver/wire"
)

// coreNames are what InheritCore inherits.
var coreNames = map[string]bool{
	"HOME": true, "LANG": true, "LC_ALL": true, "LOGNAME": true, "PATH": true, "SHELL": true, "TMPDIR": true, "USER": true,
}

// controlSocket is the variable that names the control socket of a supervisor, which
// gives full control. No process gets it.
const controlSocket = "HOSTSUP_SOCKET"

// defaultExcludes are not inherited unless a policy says otherwise.
var defaultExcludes = []string{"*KEY*", "*SECRET*", "*TOKEN*"}

// environment returns the environment of a process: env alone, or with a policy what
// it makes of the server's own, overridden by env.
func (s *Server) environment(policy *wire.EnvPolicy, env map[string]string) []string {
	vars := env
	if policy != nil {
		vars = applyPolicy(policy, s.inheritable())
		maps.Copy(vars, env)
	}
	out := make([]string, 0, len(vars))
	for k, v := range vars {
		out = append(out, k+"="+v)
	}
	return out
}

// inheritable returns what a process can inherit at most, and the control socket.
func (s *Server) inheritable() []string {
	if s.opt.Env != nil {
		return s.opt.Env
	}
	return os.Environ()
}

// lookupEnv is a variable for a header of an HTTP request: one that the client's
// processes can inherit too.
func (s *Server) lookupEnv(name string) (string, bool) {
	if name == "" || name == controlSocket {
		return "", false
	}
	value, found := "", false
	for _, kv := range s.inheritable() {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			value, found = v, true // the last one counts, as for a process
		}
	}
	return value, found
}

// applyPolicy applies the steps of a policy in their order: Inherit, the default
// excludes, Exclude, Set, IncludeOnly.
func applyPolicy(p *wire.EnvPolicy, own []string) map[string]string {
	vars := map[string]string{}
	if p.Inherit != wire.InheritNone {
		for _, kv := range own {
			k, v, ok := strings.Cut(kv, "=")
			if ok && k != "" && k != controlSocket && (p.Inherit == wire.InheritAll || coreNames[k]) {
				vars[k] = v
			}
		}
	}
	drop := func(globs []string, matching bool) {
		maps.DeleteFunc(vars, func(k, _ string) bool {
			return slices.ContainsFunc(globs, func(g string) bool { return matches(strings.ToUpper(g), strings.ToUpper(k)) }) == matching
		})
	}
	if !p.IgnoreDefaultExcludes {
		drop(defaultExcludes, true)
	}
	drop(p.Exclude, true)
	maps.Copy(vars, p.Set)
	if len(p.IncludeOnly) > 0 {
		drop(p.IncludeOnly, false)
	}
	return vars
}

// matches is a glob of * and ? without recursion, so that no pattern takes long.
func matches(glob, s string) bool {
	g, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case g < len(glob) && glob[g] == '*':
			star, mark = g, i
			g++
		case g < len(glob) && (glob[g] == '?' || glob[g] == s[i]):
			g++
			i++
		case star >= 0:
			mark++
			g, i = star+1, mark
		default:
			return false
		}
	}
	for g < len(glob) && glob[g] == '*' {
		g++
	}
	return g == len(glob)
}
