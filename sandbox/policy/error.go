package policy

import (
	"errors"
	"strings"
)

// ErrInvalid is what every [Error] is: errors.Is(err, ErrInvalid).
var ErrInvalid = errors.New("invalid policy")

// ErrUntrusted is what an [Error] is, besides [ErrInvalid], when a granted path
// is not to be trusted: it leads over a symbolic link that a confined process or
// another user could have put there, or it leads to another folder than before.
var ErrUntrusted = errors.New("untrusted path")

// Error is one thing that is wrong with a policy or with limits.
type Error struct {
	Field  string // "deny[2]", "limits.memory", "tmp.size"
	Value  string // what stands there; may be empty
	Reason string // what is wrong with it
	Help   string // what would work; may be empty
	Where  string // "config.hcl:41", from Policy.Source; may be empty

	untrusted bool
}

// Error reads `config.hcl:41: deny[2] "/srv/x": it needs mounts (accept no
// level below no-cgroup)`.
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

// Is makes every Error an ErrInvalid, and some an ErrUntrusted.
func (e *Error) Is(target error) bool {
	return target == ErrInvalid || e.untrusted && target == ErrUntrusted
}

// Errors returns the single errors of what Validate or Resolve returned, in
// the order of the fields.
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

// Problems collects errors, each with its place. The zero value has none.
type Problems struct {
	Source map[string]string // of the policy
	List   []error
}

// Add adds an [Error].
func (p *Problems) Add(field, value, reason, help string) {
	p.List = append(p.List, &Error{Field: field, Value: value, Reason: reason, Help: help, Where: p.where(field)})
}

// Distrust is Add for what is an [ErrUntrusted], too.
func (p *Problems) Distrust(field, value, reason, help string) {
	p.List = append(p.List, &Error{Field: field, Value: value, Reason: reason, Help: help, Where: p.where(field), untrusted: true})
}

// where is the place of a field, or of the nearest thing around it.
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

// Err joins what was added. It is nil for nothing.
func (p *Problems) Err() error { return errors.Join(p.List...) }
