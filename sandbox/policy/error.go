package policy

import (
	"errors"
	"strings"
)

// ErrInvalid matches every [Error]: errors.Is(err, ErrInvalid).
var ErrInvalid = errors.New("invalid policy")

// ErrUntrusted matches an [Error], besides [ErrInvalid], when a granted path
// cannot be trusted: it passes a symbolic link that a confined process or another
// user could have created, or it leads to another folder than before.
var ErrUntrusted = errors.New("untrusted path")

// Error is one mistake in a policy or in limits.
type Error struct {
	Field  string // "deny[2]", "limits.memory", "tmp.size"
	Value  string // the value of the field; may be empty
	Reason string // why the value is invalid
	Help   string // what would be valid; may be empty
	Where  string // "config.hcl:41", from Policy.Source; may be empty

	untrusted bool
}

// Error returns text such as `config.hcl:41: deny[2] "/srv/x": it needs mounts
// (accept no level below no-cgroup)`.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Where != "" {
		b.WriteString(e.Where)
		b.WriteString(": ")
	}
	b.WriteString(e.Field)
	if e.Value != "" {
		b.WriteString(` "`)
		b.WriteString(e.Value)
		b.WriteByte('"')
	}
	b.WriteString(": ")
	b.WriteString(e.Reason)
	if e.Help != "" {
		b.WriteString(" (")
		b.WriteString(e.Help)
		b.WriteByte(')')
	}
	return b.String()
}

// Is reports whether target is ErrInvalid or, for an untrusted path, ErrUntrusted.
func (e *Error) Is(target error) bool {
	return target == ErrInvalid || e.untrusted && target == ErrUntrusted
}

// Errors splits an error of Validate or Resolve into single errors, in the order
// of the fields.
func Errors(err error) []*Error {
	var all []*Error
	for _, e := range flatten(err) {
		var one *Error
		if errors.As(e, &one) {
			all = append(all, one)
		}
	}
	return all
}

// Problems collects errors, each with its position in the file. The zero value is empty.
type Problems struct {
	Source map[string]string // of the policy
	List   []error
}

// Add adds an [Error].
func (p *Problems) Add(field, value, reason, help string) {
	p.List = append(p.List, &Error{Field: field, Value: value, Reason: reason, Help: help, Where: p.where(field)})
}

// Distrust adds an [Error] that also matches [ErrUntrusted].
func (p *Problems) Distrust(field, value, reason, help string) {
	p.List = append(p.List, &Error{Field: field, Value: value, Reason: reason, Help: help, Where: p.where(field), untrusted: true})
}

// where returns the position of a field, or of the nearest enclosing one that has a position.
func (p *Problems) where(field string) string {
	for field != "" {
		if at, ok := p.Source[field]; ok {
			return at
		}
		i := strings.LastIndexAny(field, ".[")
		if i < 0 {
			return p.Source[""]
		}
		field = field[:i]
	}
	return ""
}

// Err returns the added errors, joined; nil without any.
func (p *Problems) Err() error { return errors.Join(p.List...) }
