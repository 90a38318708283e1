package lists

import "strings"

// Text is a string whose parts may be known only later. The empty Text is "".
type Text []Part

// Part is one part of a Text: a variable if Env is set, else a secret if Secret is set,
// else Words.
type Part struct {
	Words string // the literal text

	Env        string // the value of this variable of the supervisor
	HasDefault bool   // if the variable is not set, it is Default; else that is an error
	Default    string

	Secret string // the value of this secret
	About  string // for what the program asks the user, if that is how it gets the secret
}

// IsLiteral reports whether a part is text that is known.
func (p Part) IsLiteral() bool { return p.Env == "" && p.Secret == "" }

// Literal returns the Text of a known string.
func Literal(s string) Text {
	if s == "" {
		return nil
	}
	return Text{{Words: s}}
}

// Literals returns a Text for each string.
func Literals(list []string) []Text {
	out := make([]Text, len(list))
	for i, s := range list {
		out[i] = Literal(s)
	}
	return out
}

// IsLiteral reports whether all of t is known.
func (t Text) IsLiteral() bool {
	for _, p := range t {
		if !p.IsLiteral() {
			return false
		}
	}
	return true
}

// HasSecret reports whether a part of t is a secret.
func (t Text) HasSecret() bool {
	for _, p := range t {
		if p.Env == "" && p.Secret != "" {
			return true
		}
	}
	return false
}

// String returns the text with ${NAME} for variables and ${secret:NAME} for secrets.
func (t Text) String() string {
	var b strings.Builder
	for _, p := range t {
		switch {
		case p.Env != "":
			b.WriteString("${" + p.Env + "}")
		case p.Secret != "":
			b.WriteString("${secret:" + p.Secret + "}")
		default:
			b.WriteString(p.Words)
		}
	}
	return b.String()
}

// with appends literal text.
func (t Text) with(words string) Text {
	switch n := len(t); {
	case words == "":
		return t
	case n > 0 && t[n-1].IsLiteral():
		t[n-1].Words += words
		return t
	}
	return append(t, Part{Words: words})
}
