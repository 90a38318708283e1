package initial

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/lists"
	"github.com/hostsup/hostsup/intercept/secret"
)

// secretNames are words in names whose values must be kept secret.
var secretNames = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "KEY", "APIKEY", "PAT", "CREDENTIAL", "CREDENTIALS", "AUTH", "AUTHORIZATION", "BEARER"}

// noSecrets are values of such names that are settings.
var noSecrets = []string{"true", "false", "none", "null", "auto", "basic", "bearer", "oauth", "oauth2", "required", "optional", "disabled", "enabled"}

// secretShapes matches the forms by which issuers mark their tokens, headers with
// credentials, and passwords within URLs.
var secretShapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`gh[opsur]_[A-Za-z0-9]{16}|github_pat_\w{16}|\bglpat-[\w-]{16}|\bsk-[\w-]{16}|\b[sr]k_(?:live|test)_\w{10}|xox[abeprs]-[\w-]{10}|xapp-[\w-]{10}|\bAKIA[0-9A-Z]{16}|\bAIza[\w-]{30}|\bhf_[A-Za-z0-9]{20}|\bnpm_[A-Za-z0-9]{20}|\bpypi-[\w-]{16}|\b(?:ntn|lin_api|figd|dop_v1|tvly|pat)[_-][\w-]{16}|\beyJ[\w-]{10,}\.[\w-]{10,}\.|-----BEGIN [A-Z ]*PRIVATE KEY|://[^/\s:@]*:[^/\s@]+@|(?i:\b(?:proxy-)?authorization\s*[:=]\s*(?:\w+\s+)?[\w.~+/=-]{4}|\bbearer\s+[\w.~+/=-]{8})`)
})

// wordGaps separate the words of a name.
var wordGaps = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9]+`) })

// pathLike matches values that name a file. A long one without a dot may be Base64.
var pathLike = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:~|\.{1,2})?/`) })
var base64Like = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^/[A-Za-z0-9+/]{31,}={0,2}$`) })

// looksSecret guesses from its name and its form whether a value is a secret. A path
// to a secret is not, nor is what is too short to be one.
func looksSecret(name, value string) bool {
	if secretShapes().MatchString(value) {
		return true
	}
	if len(value) < secret.MinValue || slices.Contains(noSecrets, strings.ToLower(strings.TrimSpace(value))) || pathLike().MatchString(value) && !base64Like().MatchString(value) {
		return false
	}
	return slices.ContainsFunc(wordGaps().Split(strings.ToUpper(name), -1), func(w string) bool {
		return slices.Contains(secretNames, w) || strings.HasSuffix(w, "TOKEN") || strings.HasSuffix(w, "SECRET") || strings.HasSuffix(w, "PASSWORD") || strings.HasSuffix(w, "APIKEY")
	})
}

// Secret is a value that the file refers to by a name.
type Secret struct {
	Name  string
	Value string // "" if only the user knows it
	Where string // what has it, for people
}

// Guard replaces what looks like a secret in hosts by references, and returns the
// secrets sorted by the order of the hosts. No value stays in a host. As a command
// cannot refer to a secret, its arguments become variables that sh puts there; without
// sh the host is returned as Left.
//
// isTaken reports whether a secret with this name and another value exists; a reference
// gets another name then. It may be nil.
func (m Machine) Guard(hosts []Host, isTaken func(name, value string) bool) ([]Host, []Secret, []Left) {
	g := guard{isTaken: isTaken, values: map[string]string{}}
	var out []Host
	var left []Left
	for _, h := range hosts {
		h.Command, h.Env, h.Headers = slices.Clone(h.Command), maps.Clone(h.Env), maps.Clone(h.Headers)
		known := len(g.secrets)
		err := g.environment(&h)
		if err == nil && h.URL != nil {
			err = g.headers(&h)
		} else if err == nil {
			err = g.arguments(&h, m)
		}
		if err != nil {
			g.secrets = g.secrets[:known]
			left = append(left, Left{Name: h.Name, Why: err.Error()})
			continue
		}
		out = append(out, h)
	}
	return out, g.secrets, left
}

type guard struct {
	isTaken func(name, value string) bool
	values  map[string]string // by name
	secrets []Secret
}

// add returns a reference to a value under the name that is wanted, or one like it.
func (g *guard) add(want, value, where string) (lists.Part, error) {
	if err := secret.CheckValue([]byte(value)); value != "" && err != nil {
		return lists.Part{}, fmt.Errorf("%s looks like a secret, and is %w", where, err)
	}
	want = strings.Trim(secretGaps().ReplaceAllString(want, "_"), "._-")
	want = cmp.Or(want[:min(len(want), secret.MaxName-8)], "secret")
	name := want
	for n := 2; ; n++ {
		have, used := g.values[name]
		if used && have == value {
			break
		}
		if !used && (g.isTaken == nil || value == "" || !g.isTaken(name, value)) {
			g.values[name] = value
			g.secrets = append(g.secrets, Secret{Name: name, Value: value, Where: where})
			break
		}
		name = fmt.Sprintf("%s-%d", want, n)
	}
	return lists.Part{Secret: name}, nil
}

// secretGaps matches what the name of a secret must not contain here.
var secretGaps = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9._-]+`) })

// replace returns t with references in the place of secrets. isSecret judges its
// literal parts.
func (g *guard) replace(t Text, want, where string, isSecret func(string) bool) (Text, error) {
	out := slices.Clone(t)
	for i, p := range out {
		var err error
		switch {
		case p.Env != "":
			if looksSecret(p.Env, p.Default) {
				// A default that is a secret cannot be kept; the value alone can.
				out[i], err = g.add(want, p.Default, where)
			}
		case p.Secret != "":
			out[i], err = g.add(p.Secret, "", p.About)
		case isSecret(p.Words):
			out[i], err = g.add(want, p.Words, where)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (g *guard) environment(h *Host) error {
	for _, k := range slices.Sorted(maps.Keys(h.Env)) {
		t, err := g.replace(h.Env[k], h.Name+"."+k, k+" of "+h.Name, func(words string) bool { return looksSecret(k, words) })
		if err != nil {
			return err
		}
		h.Env[k] = t
	}
	return nil
}

// headers replaces secrets in what is sent to a server elsewhere.
func (g *guard) headers(h *Host) (err error) {
	if h.Token, err = g.replace(h.Token, h.Name+".token", "the token of "+h.Name, func(words string) bool { return looksSecret("TOKEN", words) }); err != nil {
		return err
	}
	for _, k := range slices.Sorted(maps.Keys(h.Headers)) {
		h.Headers[k], err = g.replace(h.Headers[k], h.Name+"."+k, k+" of "+h.Name, func(words string) bool { return looksSecret(k, words) })
		if err != nil {
			return err
		}
	}
	return nil
}

// arguments moves secrets out of a command.
func (g *guard) arguments(h *Host, m Machine) error {
	hidden := map[int]string{} // position → variable
	for i, t := range h.Command {
		option := ""
		if i > 0 {
			option = h.Command[i-1].String()
		}
		name := argumentName(option, t.String(), i)
		replaced, err := g.replace(t, h.Name+"."+name, fmt.Sprintf("argument %d of %s", i, h.Name), func(words string) bool { return secretWord(option, words) })
		if err != nil {
			return err
		}
		if !replaced.HasSecret() {
			h.Command[i] = replaced
			continue
		}
		for n := 2; ; n++ {
			if _, taken := h.Env[name]; !taken && !slices.Contains(h.Inherit, name) && name != "PATH" && name != "HOME" {
				break
			}
			name = fmt.Sprintf("%s_%d", strings.TrimRight(name, "_0123456789"), n)
		}
		if h.Env == nil {
			h.Env = map[string]Text{}
		}
		h.Env[name], hidden[i] = replaced, name
	}
	if len(hidden) == 0 {
		return nil
	}
	if _, err := m.LookPath("sh"); err != nil {
		return errors.New("one of its arguments looks like a secret, and there is no sh that could put it there from a variable")
	}
	script, rest, n := "exec", []Text(nil), 0
	for i, t := range h.Command {
		if v := hidden[i]; v != "" {
			script += ` "$` + v + `"`
			continue
		}
		script += fmt.Sprintf(` "${%d}"`, n)
		rest = append(rest, t)
		n++
	}
	h.Command = append(lists.Literals([]string{"sh", "-c", script}), rest...)
	h.Hidden = true
	return nil
}

// argumentName returns the name of a variable for an argument, after its option.
func argumentName(option, word string, i int) string {
	name := option
	if before, _, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "-") {
		name = before
	}
	if !strings.HasPrefix(name, "-") {
		name = ""
	}
	name = strings.ToUpper(strings.Trim(wordGaps().ReplaceAllString(name, "_"), "_"))
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		return fmt.Sprintf("ARGUMENT_%d", i)
	}
	return name
}

// secretWord reports whether an argument looks like a secret: by itself, or because of
// the option before it.
func secretWord(option, word string) bool {
	name, value, joined := strings.Cut(word, "=")
	switch {
	case secretShapes().MatchString(word), joined && looksSecret(name, value):
		return true
	}
	return strings.HasPrefix(option, "-") && !strings.Contains(option, "=") && !strings.HasPrefix(word, "-") && looksSecret(option, word)
}
