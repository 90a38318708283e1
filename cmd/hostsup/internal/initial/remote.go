package initial

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// headerName matches the names of headers that a file can have.
var headerName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$") })

// fitRemote is fit for a host with a URL.
func (h Host) fitRemote() error {
	all := map[string]Text{"URL": h.URL, "token": h.Token}
	for name, value := range h.Headers {
		if !headerName().MatchString(name) {
			return fmt.Errorf("%q cannot be the name of a header", name)
		}
		all["header "+name] = value
	}
	for _, what := range slices.Sorted(maps.Keys(all)) {
		if err := holdsText(all[what]); err != nil {
			return fmt.Errorf("its %s: %w", what, err)
		}
		if strings.ContainsFunc(all[what].String(), unicode.IsControl) {
			return fmt.Errorf("its %s contains a control character", what)
		}
	}
	return nil
}

// reach completes a host with a URL, or returns why a file cannot have it.
func (m Machine) reach(h *Host) error {
	if h.URL.HasSecret() {
		return errors.New("its URL has a secret, for which a configuration has no place: if the server takes it in a header too, put it there")
	}
	u, err := url.Parse(m.value(h.URL))
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Fragment != "":
		return errors.New("its URL is not one such as https://mcp.example/mcp, as far as it is known here")
	case u.User != nil:
		return errors.New("its URL has a user, which all users of the machine would see: put that into the header Authorization")
	}
	for name, values := range u.Query() {
		if slices.ContainsFunc(values, func(v string) bool { return looksSecret(name, v) }) {
			return fmt.Errorf("%s in its URL looks like a secret, which all users of the machine would see: if the server takes it in a header too, put it there", name)
		}
	}
	for _, p := range h.URL {
		if p.Env != "" && slices.ContainsFunc(wordGaps().Split(strings.ToUpper(p.Env), -1), func(w string) bool { return slices.Contains(secretNames, w) }) {
			return fmt.Errorf("%s in its URL looks like a secret, which all users of the machine would see: if the server takes it in a header too, put it there", p.Env)
		}
	}
	if u.Scheme == "http" && !m.IsLoopback(u.Hostname()) {
		h.Unencrypted = true
		h.Remarks = append(h.Remarks, fmt.Sprintf("It is reached without encryption: whoever is between this machine and %s reads and changes what is sent. Use https:// if it can.", u.Hostname()))
	}
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy"} {
		if _, set := m.Getenv(name); set {
			h.Inherit = append(h.Inherit, name)
		}
	}
	return nil
}

// value returns what a text without secrets is here.
func (m Machine) value(t Text) string {
	var b strings.Builder
	for _, p := range t {
		value := p.Words
		if p.Env != "" {
			var set bool
			if value, set = m.Getenv(p.Env); !set {
				value = p.Default
			}
		}
		b.WriteString(value)
	}
	return b.String()
}
