package initial

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/lists"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
)

// Left is a server that the configuration leaves out.
type Left = lists.Left

// FromList returns hosts for the servers of an agent's or an editor's list. A server
// that cannot be a host is returned as Left.
func (m Machine) FromList(servers []lists.Server) ([]Host, []Left) {
	var hosts []Host
	var left []Left
	for _, s := range servers {
		h := m.listed(s)
		err := h.fit()
		if err == nil && h.URL != nil {
			err = m.reach(&h)
		}
		if err != nil {
			left = append(left, Left{Name: s.Name, Why: err.Error()})
			continue
		}
		hosts = append(hosts, h)
	}
	return hosts, left
}

func (m Machine) listed(s lists.Server) Host {
	h := Host{Name: hostName(s.Name), Kind: MCPServer, Command: slices.Clone(s.Command), Env: maps.Clone(s.Env), Dir: s.Dir, Start: s.Timeout}
	if s.Language {
		h.Kind = LanguageServer
	}
	if h.Name != s.Name {
		h.Remarks = append(h.Remarks, fmt.Sprintf("It is %q where it comes from, which cannot be the name of a host.", s.Name))
	}
	h.Remarks = append(h.Remarks, s.Notes...)
	if s.URL != nil {
		h.URL, h.Token, h.Headers = s.URL, s.Token, maps.Clone(s.Headers)
		if s.Token != nil && !s.Token.HasSecret() && m.value(s.Token) == "" { // a configuration with an empty one is not valid
			h.Token = Text{{Secret: h.Name + ".token", About: fmt.Sprintf("The token of %s, which was %s", h.Name, s.Token)}}
		}
		m.unset(&h)
		return h
	}
	words := make([]string, len(h.Command))
	for i, t := range h.Command {
		words[i] = t.String()
	}
	h.Fetches = fetches(words)
	if h.Dir == nil && slices.ContainsFunc(words[1:], func(w string) bool { return m.inProject(s.Workspace, w) }) {
		h.Dir = lists.Literal(s.Workspace)
	}
	m.unset(&h)
	m.recognize(&h)
	m.remark(&h)
	return h
}

// inProject reports whether an argument is a file of the project, named from its folder.
func (m Machine) inProject(folder, word string) bool {
	return folder != "" && word != "" && word[0] != '-' && filepath.IsLocal(word) && m.IsFile(filepath.Join(folder, word))
}

// unset gives variables that are not set a default, as a configuration that reads one
// without is not valid.
func (m Machine) unset(h *Host) {
	var names []string
	complete := func(t Text) Text {
		t = slices.Clone(t) // nil stays nil
		for i := range t {
			p := &t[i]
			if p.Env == "" || p.HasDefault {
				continue
			}
			if _, ok := m.Getenv(p.Env); ok {
				continue
			}
			p.HasDefault = true
			if !slices.Contains(names, p.Env) {
				names = append(names, p.Env)
			}
		}
		return t
	}
	for i, t := range h.Command {
		h.Command[i] = complete(t)
	}
	if h.Dir != nil {
		h.Dir = complete(h.Dir)
	}
	for _, k := range slices.Sorted(maps.Keys(h.Env)) {
		h.Env[k] = complete(h.Env[k])
	}
	h.URL, h.Token = complete(h.URL), complete(h.Token)
	for _, k := range slices.Sorted(maps.Keys(h.Headers)) {
		h.Headers[k] = complete(h.Headers[k])
	}
	if len(names) > 0 {
		h.Remarks = append(h.Remarks, fmt.Sprintf("Not set here: %s. Set it where the supervisor is started, or the host gets an empty value.", strings.Join(names, ", ")))
	}
}

// nameGaps matches what the name of a host must not contain.
var nameGaps = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9._-]+`) })

// hostName returns a valid name for a host, close to the given one.
func hostName(s string) string {
	s = strings.Trim(nameGaps().ReplaceAllString(s, "-"), "._-")
	s = s[:min(len(s), maxName)]
	if hostspec.CheckName(s) != nil {
		return "server"
	}
	return s
}
