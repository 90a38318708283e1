package initial

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/lists"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
)

// Kind is the protocol of a host.
type Kind int

// The kinds.
const (
	LanguageServer Kind = iota // JSON-RPC with Content-Length
	MCPServer                  // JSON-RPC by lines
	Neovim                     // MessagePack-RPC
)

// Text is a value of a host, which may refer to variables and secrets.
type Text = lists.Text

// Host is one host of the file to be.
type Host struct {
	Name    string
	Kind    Kind
	Known   string          // its name as a known server; "" if it is not known
	Command []Text          // nil for a host with a URL
	URL     Text            // of a server elsewhere; nil for a program
	Token   Text            // for that server; nil for none
	Headers map[string]Text // of requests to it
	// Unencrypted permits http:// to another machine.
	Unencrypted bool
	Dir         Text            // nil is the supervisor's
	Env         map[string]Text // set for the host
	Inherit     []string        // taken from the supervisor, beside PATH and HOME
	About       string          // what it is; "" if unknown
	Fetches     bool            // its command may download it first
	Start       time.Duration   // how long a start may take; 0 is the default
	Hidden      bool            // sh puts secrets into its arguments; see [Guard]
	Remarks     []string        // what the user must know or do
}

// program returns the program of the host, as far as it is known.
func (h Host) program() string { return h.Command[0].String() }

// fit returns why a host cannot be written to a file, or nil.
func (h Host) fit() error {
	if err := hostspec.CheckName(h.Name); err != nil {
		return fmt.Errorf("%q cannot be the name of a host: it has 1 to 63 letters, digits, dots, dashes and underscores, and begins with a letter or digit", h.Name)
	}
	if h.URL != nil {
		return h.fitRemote()
	}
	if len(h.Command) == 0 || len(h.Command[0]) == 0 {
		return errors.New("it has no command")
	}
	for _, t := range append([]Text{h.Dir}, h.Command...) {
		if err := holdsText(t); err != nil {
			return fmt.Errorf("in its command: %w", err)
		}
	}
	for k, v := range h.Env {
		if !fitName(k) {
			return fmt.Errorf("%q cannot be the name of a variable of a host", k)
		}
		if err := holdsText(v); err != nil {
			return fmt.Errorf("the value of %s: %w", k, err)
		}
	}
	return nil
}

// holdsText returns why a file cannot hold a value unchanged, or nil.
func holdsText(t Text) error {
	for _, p := range t {
		if err := errors.Join(holds(p.Words), holds(p.Default)); err != nil {
			return err
		}
	}
	return nil
}

// fitName reports whether a host can get a variable with this name.
func fitName(k string) bool {
	return k != "" && !strings.HasPrefix(k, "HOSTSUP_") && holds(k) == nil &&
		!strings.ContainsFunc(k, func(r rune) bool { return r == '=' || unicode.IsSpace(r) || unicode.IsControl(r) })
}

// holds returns why a file cannot hold a string unchanged, or nil.
func holds(s string) error {
	switch {
	case strings.ContainsRune(s, 0):
		return errors.New("it contains a NUL byte")
	case !utf8.ValidString(s):
		return errors.New("it is not valid UTF-8")
	case cty.StringVal(s).AsString() != s:
		return errors.New("it is not in Unicode's composed form (NFC), which a configuration is read in")
	}
	return nil
}

// Join combines named hosts and hosts of an agent. Two named hosts with the same
// name are an error; a host of an agent whose name is taken gets another name.
func Join(named, agent []Host) ([]Host, error) {
	taken := map[string]bool{}
	all := make([]Host, 0, len(named)+len(agent))
	for _, h := range named {
		if taken[h.Name] {
			return nil, fmt.Errorf("%s is given twice: give one of them a name of its own, as in NAME=COMMAND", h.Name)
		}
		taken[h.Name] = true
		all = append(all, h)
	}
	for _, h := range agent {
		name := h.Name
		for n := 2; taken[h.Name]; n++ {
			tail := fmt.Sprintf("-%d", n)
			h.Name = name[:min(len(name), maxName-len(tail))] + tail
		}
		if h.Name != name {
			h.Remarks = append(h.Remarks, fmt.Sprintf("The name %s was taken.", name))
		}
		taken[h.Name] = true
		all = append(all, h)
	}
	return all, nil
}

// maxName is the length of the longest name of a host.
const maxName = 63
