package secret

import (
	"fmt"
	"slices"
	"strings"
)

// Text is a text with secrets in it that are not there yet: what a
// configuration says instead of a value.
type Text []Part

// Part is a piece of a Text: words as they are, or the name of a secret.
type Part struct {
	Words  string
	Secret string // "": Words
}

// Reference is a Text that is nothing but a secret.
func Reference(name string) Text { return Text{{Secret: name}} }

// String shows it as a configuration does: secret("github"), or "Bearer
// ${secret("github")}". It is not resolved.
func (t Text) String() string {
	if len(t) == 1 && t[0].Secret != "" {
		return fmt.Sprintf("secret(%q)", t[0].Secret)
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, p := range t {
		if p.Secret != "" {
			fmt.Fprintf(&b, "${secret(%q)}", p.Secret)
			continue
		}
		q := fmt.Sprintf("%q", p.Words)
		b.WriteString(strings.ReplaceAll(q[1:len(q)-1], "${", "$${"))
	}
	b.WriteByte('"')
	return b.String()
}

// Names are the secrets in it, each once, in the order in which they come.
func (t Text) Names() []string {
	var out []string
	for _, p := range t {
		if p.Secret != "" && !slices.Contains(out, p.Secret) {
			out = append(out, p.Secret)
		}
	}
	return out
}

// Validate says what is wrong with it: there has to be a secret in it, names
// have to be ones, and nothing may hold a NUL byte.
func (t Text) Validate() error {
	if len(t.Names()) == 0 {
		return fmt.Errorf("%w: there is none in it", ErrName)
	}
	for _, p := range t {
		if p.Secret != "" {
			if err := CheckName(p.Secret); err != nil {
				return err
			}
		}
		if strings.ContainsRune(p.Words, 0) {
			return fmt.Errorf("%w: there is a NUL byte beside it", ErrValue)
		}
	}
	return nil
}

// Fill puts values in place of names. The result is new memory, to be wiped by
// whoever is done with it.
func (t Text) Fill(value func(name string) ([]byte, error)) ([]byte, error) {
	var out []byte
	grow := func(b []byte) {
		if len(out)+len(b) > cap(out) { // no copy of it stays behind
			bigger := make([]byte, len(out), 2*cap(out)+len(b))
			copy(bigger, out)
			Wipe(out)
			out = bigger
		}
		out = append(out, b...)
	}
	for _, p := range t {
		if p.Secret == "" {
			grow([]byte(p.Words))
			continue
		}
		v, err := value(p.Secret)
		if err != nil {
			Wipe(out)
			return nil, err
		}
		grow(v)
		Wipe(v)
	}
	return out, nil
}
