package attach

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// Key stands for the key of an instance of a template, in the Command, Dir, Env and Sandbox of
// the template's spec. In the program of Command, in Dir and in Sandbox the key must be the name, or a part of the name, of one file
// or folder.
const Key = "${key}"

// KeyName stands for the end of the name of the host: the key if it is a plain name of lower
// case, else a text that no other key has. It is the name of a file or folder, whatever the
// key is.
const KeyName = "${key_name}"

// Var returns what stands for one of [Rule].Vars, where [Key] may stand. All users of a machine
// can see the arguments of a process.
func Var(name string) string { return "${var." + name + "}" }

// Bounds of what the callers of a template give.
const (
	MaxKey  = 256      // bytes of a key
	MaxVars = 32       // variables of a template
	maxVar  = 16 << 10 // bytes of all values
)

// ErrKey means that a template has no instance for the key and the values that its caller
// gives, or that the host is no template.
var ErrKey = errors.New("no instance for this key")

// keyKey is that of WithKey.
type keyKey struct{}

// WithKey returns a context for [supervisor.Supervisor.Attach] of a template by which the
// program gets the instance of a key, with the values of all of [Rule].Vars. The key is
// printable text of at most [MaxKey] bytes. Programs with the same key share the instance;
// those with another key never get it, whatever becomes of it. Other values for the same key
// restart the instance with these, also for the programs that are attached: who may give
// which key is the caller's to decide. Values are not shown anywhere, except for those of less
// than 4 bytes that the instance itself prints.
func WithKey(ctx context.Context, key string, vars map[string]string) context.Context {
	return context.WithValue(ctx, keyKey{}, want{key: keyOf(key), id: key, vars: maps.Clone(vars)})
}

// KeyOf returns the key and the values that WithKey has given a context, and whether it has some.
func KeyOf(ctx context.Context) (key string, vars map[string]string, has bool) {
	w, has := ctx.Value(keyKey{}).(want)
	return w.id, w.vars, has
}

// keyOf returns what the programs of a key have in common; it begins as nothing else does.
func keyOf(key string) string { return "key " + key }

// misplaced returns an error if a context has a key for a host that is not a template.
func misplaced(ctx context.Context, host string, per Sharing) error {
	if _, has := ctx.Value(keyKey{}).(want); has && per != PerKey {
		return fmt.Errorf("%w: host %q is not a template", ErrKey, host)
	}
	return nil
}

// wanted returns which instance of a template a context asks for.
func (r Rule) wanted(ctx context.Context, template string) (want, error) {
	w, has := ctx.Value(keyKey{}).(want)
	if !has {
		return w, fmt.Errorf("%w: %q is a template, and runs for a key alone; name one: hostsup attach %s --key KEY", ErrKey, template, template)
	}
	return w, r.check(template, w.id, w.vars)
}

// CheckKey returns what is wrong with the key and the values of a context for a host: nil for one
// that is not a template without a key, else an [ErrKey].
func CheckKey(ctx context.Context, spec supervisor.HostSpec) error {
	rule := RuleOf(spec)
	if rule.Instances != PerKey {
		return misplaced(ctx, spec.Name, rule.Instances)
	}
	_, err := rule.wanted(ctx, spec.Name)
	return err
}

// check returns what is wrong with a key and values for a template.
func (r Rule) check(template, key string, vars map[string]string) error {
	switch {
	case key == "" || len(key) > MaxKey:
		return fmt.Errorf("%w: a key has 1 to %d bytes, not %d", ErrKey, MaxKey, len(key))
	case !utf8.ValidString(key) || strings.ContainsFunc(key, func(c rune) bool { return !unicode.IsPrint(c) }):
		return fmt.Errorf("%w: key %q has a character that is not printable", ErrKey, key)
	}
	for _, name := range r.Vars {
		if _, given := vars[name]; !given {
			return fmt.Errorf("%w: template %q needs a value for its variable %q", ErrKey, template, name)
		}
	}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		value := vars[name]
		switch size += len(value); {
		case !slices.Contains(r.Vars, name) && len(r.Vars) == 0:
			return fmt.Errorf("%w: template %q has no variable %q: it has none", ErrKey, template, name)
		case !slices.Contains(r.Vars, name):
			return fmt.Errorf("%w: template %q has no variable %q; it has %s", ErrKey, template, name, strings.Join(r.Vars, ", "))
		case strings.ContainsAny(value, "\x00\r\n"): // a value may be a line of a text, such as an HTTP header
			return fmt.Errorf("%w: the value of variable %q has several lines, or a NUL byte", ErrKey, name)
		case size > maxVar:
			return fmt.Errorf("%w: the values of variables have more than %d bytes", ErrKey, maxVar)
		}
	}
	return nil
}

// varName is what names of variables look like.
var varName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,62}$`) })

// checkVars returns what is wrong with names of variables.
func checkVars(names []string) error {
	if len(names) > MaxVars {
		return fmt.Errorf("%d variables; expected at most %d", len(names), MaxVars)
	}
	for i, name := range names {
		if !varName().MatchString(name) || slices.Contains(names[:i], name) {
			return fmt.Errorf("variable %q: expected names that differ, of letters, digits, '_' and '-', which begin with a letter or '_'", name)
		}
	}
	return nil
}

// plainKey is what keys look like that are the ends of names of hosts. No capitals: files that
// are named after two hosts may be the same one where case does not count.
var plainKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`) })

// suffix returns the end of the name of the instance that is wanted of a template: its key, or
// where that does not go, '_' and 160 bits of SHA-256.
func (w want) suffix() string {
	if w.key == keyOf(w.id) && plainKey().MatchString(w.id) {
		return w.id
	}
	sum := sha256.Sum256([]byte(w.key))
	return "_" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:20]))
}

// filled puts a key and values in the places of [Key] and [Var], all at once: what stands in a
// value is not replaced.
func filled(spec supervisor.HostSpec, w want) (supervisor.HostSpec, error) {
	pairs := []string{Key, w.id, KeyName, want{id: w.id, key: keyOf(w.id)}.suffix()}
	for name, value := range w.vars {
		pairs = append(pairs, Var(name), value)
	}
	r := strings.NewReplacer(pairs...)
	var wrong error
	return rewritten(spec, r.Replace, func(pattern string) string {
		path := r.Replace(pattern)
		if !sameDepth(pattern, path) && wrong == nil {
			wrong = fmt.Errorf("%w: what stands for the key or a variable in path %q of template %q must be the name of one file or folder", ErrKey, pattern, spec.Name)
		}
		return path
	}), wrong
}

// sameDepth reports whether the elements of a path that differ from those of another one are
// names that mean nothing but themselves.
func sameDepth(pattern, path string) bool {
	if pattern == path {
		return true
	}
	before, after := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(before) != len(after) {
		return false
	}
	for i, name := range after {
		if name != before[i] && (name == "" || name == "." || name == ".." || strings.ContainsAny(name, "\\:*?[]{}\n\r")) {
			return false
		}
	}
	return true
}

// hold has the values of an instance taken out of all that is kept and shown.
func (i *instances) hold(w want) (release func()) {
	var all []func()
	for name, value := range w.vars {
		all = append(all, i.hubs.hold("var."+name, []byte(value)))
	}
	return func() {
		for _, release := range all {
			release()
		}
	}
}

// keyed is a feature of the instances of templates: their status shows the key.
type keyed struct{ Key string }

func (keyed) Setting() string               { return "key" }
func (keyed) Validate(codec.Protocol) error { return nil }

func (k keyed) Interceptor(*actors.Ref) *actors.Interceptor {
	return &actors.Interceptor{Name: "key", Stage: actors.StageServe, Status: func(s *record.HostStatus) { s.Key = &k.Key }}
}

// Instance returns the instance of a template for a key, as [WithKey] says, and makes it if it
// is not there: it is a host like any other, which is being started unless the first program
// that attaches is to open it. release must be called when it is not used any more; until then
// it is neither removed for IdleStop nor for another one. It must not be used after that.
//
// Errors: [ErrKey] names what is wrong with the key or the values; [ErrInstances]: there are as
// many as there may be, and all are used; supervisor.ErrStopped: a person has stopped the
// template; supervisor.ErrNoHost, ErrNoPart, ErrClosed, and ctx's.
func Instance(ctx context.Context, sup *supervisor.Supervisor, template, key string, vars map[string]string) (host *supervisor.Host, release func(), err error) {
	a := &asked{}
	if err := sup.Attach(context.WithValue(WithKey(ctx, key, vars), askedKey{}, a), template, nil); err != nil {
		return nil, nil, err
	}
	return a.host, a.release, nil
}

// askedKey is that of an instance that is asked for without a program that attaches to it.
type askedKey struct{}

// asked is such an instance.
type asked struct {
	host    *supervisor.Host
	release func()
}

// instance finds or makes an instance that is asked for.
func (h *hubs) instance(ctx context.Context, template *supervisor.Host, a *asked) error {
	rule := RuleOf(template.Spec())
	if err := misplaced(ctx, template.Name(), rule.Instances); err != nil {
		return err
	}
	if err := Refused(template.Status()); errors.Is(err, supervisor.ErrStopped) {
		return err
	}
	w, err := rule.wanted(ctx, template.Name())
	if err != nil {
		return err
	}
	i := h.instancesOf(template)
	host, number, err := i.join(ctx, "", w)
	if err != nil {
		return err
	}
	a.host, a.release = host, sync.OnceFunc(func() { i.left(number) })
	return nil
}
