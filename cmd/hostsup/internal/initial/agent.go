package initial

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sync"

	"github.com/hostsup/hostsup/lifecycle/hostspec"
)

// Left is a server of an agent's file that the configuration leaves out.
type Left struct{ Name, Why string }

// agentFile is the file in the forms that agents and editors use.
type agentFile struct {
	MCPServers map[string]json.RawMessage `json:"mcpServers"`
	Servers    map[string]json.RawMessage `json:"servers"`
	MCP        struct {
		Servers map[string]json.RawMessage `json:"servers"`
	} `json:"mcp"`
}

// agentServer is one entry of the file.
type agentServer struct {
	Command   *string        `json:"command"`
	Args      []string       `json:"args"`
	Env       map[string]any `json:"env"`
	EnvFile   string         `json:"envFile"`
	Cwd       string         `json:"cwd"`
	Type      string         `json:"type"`
	URL       string         `json:"url"`
	ServerURL string         `json:"serverUrl"`
	HTTPURL   string         `json:"httpUrl"`
	Disabled  bool           `json:"disabled"`
	Enabled   *bool          `json:"enabled"`
}

// FromAgent reads the servers of an agent's mcp.json, or of an editor's, with or
// without comments. They are sorted by name. An error is about the file as a whole;
// a server that cannot be supervised is returned as Left.
func (m Machine) FromAgent(src []byte) ([]Host, []Left, error) {
	src = plainJSON(src)
	var f agentFile
	if err := json.Unmarshal(src, &f); err != nil {
		return nil, nil, located(src, err)
	}
	all := map[string]json.RawMessage{}
	for _, part := range []map[string]json.RawMessage{f.MCP.Servers, f.Servers, f.MCPServers} {
		maps.Copy(all, part)
	}
	if len(all) == 0 {
		return nil, nil, errors.New(`there are no servers in it: expected {"mcpServers": {"NAME": {"command": "…", "args": […]}}}, or "servers" instead of "mcpServers"`)
	}
	var hosts []Host
	var left []Left
	for _, name := range slices.Sorted(maps.Keys(all)) {
		h, err := m.agentHost(name, all[name])
		if err != nil {
			left = append(left, Left{name, err.Error()})
			continue
		}
		hosts = append(hosts, h)
	}
	return hosts, left, nil
}

func (m Machine) agentHost(name string, src json.RawMessage) (Host, error) {
	var s agentServer
	var wrong *json.UnmarshalTypeError
	switch err := json.Unmarshal(src, &s); {
	case errors.As(err, &wrong) && wrong.Field != "":
		return Host{}, fmt.Errorf("its %s cannot be %s", wrong.Field, kindOf(wrong.Value))
	case err != nil:
		return Host{}, errors.New("it is not an object")
	case s.Disabled || s.Enabled != nil && !*s.Enabled:
		return Host{}, errors.New("it is disabled")
	case s.Command == nil && (s.URL != "" || s.ServerURL != "" || s.HTTPURL != "" || s.Type != "" && s.Type != "stdio"):
		return Host{}, errors.New("it is reached at a URL: there is no process to supervise")
	case s.Command == nil:
		return Host{}, errors.New("it has no command")
	}
	h := Host{Name: hostName(name), Kind: MCPServer, Command: append([]string{*s.Command}, s.Args...)}
	h.Fetches = fetches(h.Command)
	if h.Name != name {
		h.Remarks = append(h.Remarks, fmt.Sprintf("It is %q where it comes from, which cannot be the name of a host.", name))
	}
	if err := h.variables(s.Env); err != nil {
		return Host{}, err
	}
	if slices.ContainsFunc(h.Command, hasPlaceholder) {
		h.Remarks = append(h.Remarks, "There is ${…} in its command, which agents replace and hostsup does not: write its value there.")
	}
	switch {
	case hasPlaceholder(s.Cwd):
		h.Remarks = append(h.Remarks, fmt.Sprintf("It ran in %s, which hostsup does not know: set dir.", s.Cwd))
	case s.Cwd != "" && !filepath.IsAbs(s.Cwd):
		h.Dir = filepath.Join(m.Dir, s.Cwd)
	default:
		h.Dir = s.Cwd
	}
	if s.EnvFile != "" {
		h.Remarks = append(h.Remarks, fmt.Sprintf("It took variables from %s: put them into env.", s.EnvFile))
	}
	return h, h.fit()
}

// placeholder matches what agents replace, with or without a default.
var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}$`) })

func hasPlaceholder(s string) bool { return strings.Contains(s, "${") }

// variables takes over the environment. Variables that an agent would pass on from
// its own are inherited.
func (h *Host) variables(env map[string]any) error {
	for _, k := range slices.Sorted(maps.Keys(env)) {
		var v string
		switch x := env[k].(type) {
		case string:
			v = x
		case float64, bool:
			v = fmt.Sprint(x)
		case nil:
			continue
		default:
			return fmt.Errorf("its variable %s is not a string", k)
		}
		if m := placeholder().FindStringSubmatch(v); m != nil && m[1] == k {
			if !fitName(k) {
				return fmt.Errorf("%q cannot be the name of a variable of a host", k)
			}
			if k != "PATH" && k != "HOME" {
				h.Inherit = append(h.Inherit, k)
			}
			continue
		}
		if hasPlaceholder(v) {
			h.Remarks = append(h.Remarks, fmt.Sprintf("There is ${…} in %s, which agents replace and hostsup does not: write its value there.", k))
		}
		if h.Env == nil {
			h.Env = map[string]string{}
		}
		h.Env[k] = v
	}
	return nil
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

// located adds to an error the position at which a text stops being valid JSON.
func located(src []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	at := -1
	switch {
	case errors.As(err, &syntax):
		at = int(syntax.Offset)
	case errors.As(err, &kind):
		at = int(kind.Offset)
		err = fmt.Errorf("%s: expected an object, not %s", orWhole(kind.Field), kind.Value)
	}
	if at < 0 || at > len(src) {
		return fmt.Errorf("not JSON: %w", err)
	}
	return fmt.Errorf("line %d: %w", 1+bytes.Count(src[:at], []byte("\n")), err)
}

// kindOf describes an unexpected value, without the value itself.
func kindOf(value string) string {
	word, _, _ := strings.Cut(value, " ")
	return "of type " + word
}

func orWhole(field string) string {
	if field == "" {
		return "the whole"
	}
	return field
}
