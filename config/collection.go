package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"unicode"

	"github.com/zclconf/go-cty/cty"

	"github.com/hostsup/hostsup/internal/signame"
	"github.com/hostsup/hostsup/lifecycle"
)

// command reads the program and its arguments.
func command(dst *[]string) setting {
	const expect = "a list of strings: the program, then its arguments"
	return setting{expect: expect, required: true,
		read: func(g given) {
			hint := ""
			if g.val.Type() == cty.String && !g.val.IsNull() {
				hint = "No shell splits it."
				if words := strings.Fields(g.val.AsString()); len(words) > 0 && !strings.ContainsAny(g.val.AsString(), "'\"\\$|;&<>*") {
					hint += fmt.Sprintf(" Write [%s].", strings.TrimSpace(quotedList(words)))
				}
			}
			if g.val.Type().IsSetType() {
				g.wrongType(expect, "A set has no order.")
				return
			}
			list, ok := g.strings(expect, hint)
			if !ok {
				return
			}
			if len(list) == 0 {
				g.bad("It is empty; it needs at least the program.")
				return
			}
			if list[0] == "" {
				first, _ := g.elements(expect, "")
				first[0].bad("The name of the program is empty.")
				return
			}
			*dst = list
		},
		show: func() string { return showStrings(*dst) },
	}
}

// strings returns the strings of a list. It reports NUL characters, which no argument
// and no name may contain.
func (g given) strings(want, hint string) ([]string, bool) {
	elems, ok := g.elements(want, hint)
	if !ok {
		return nil, false
	}
	out := make([]string, 0, len(elems))
	for _, e := range elems {
		s, is := e.str("a string")
		if is && strings.ContainsRune(s, 0) {
			e.bad("It contains a NUL character.")
			is = false
		}
		ok = ok && is
		out = append(out, s)
	}
	return out, ok
}

func quotedList(words []string) string {
	q := make([]string, len(words))
	for i, w := range words {
		q[i] = fmt.Sprintf("%q", w)
	}
	return strings.Join(q, ", ")
}

func showStrings(list []string) string {
	if list == nil {
		return ""
	}
	return "[" + quotedList(list) + "]"
}

// reserved is the prefix of the names that hostsup itself sets for a host.
const reserved = "HOSTSUP_"

// checkEnvName returns what is wrong with the name of an environment variable, or "".
func checkEnvName(name string) string {
	switch {
	case name == "":
		return "The name is empty."
	case strings.HasPrefix(name, reserved):
		return fmt.Sprintf("Names that begin with %s are set by hostsup itself and cannot be given to a host.", reserved)
	case strings.ContainsFunc(name, func(r rune) bool { return r == '=' || unicode.IsSpace(r) || unicode.IsControl(r) }):
		return "The name of an environment variable has no =, no spaces and no control characters."
	}
	return ""
}

// environment reads the variables that are set for a host.
func environment(dst *map[string]string) setting {
	const expect = `a map of strings such as { NODE_ENV = "production" }`
	return setting{expect: expect,
		read: func(g given) {
			entries, ok := g.entries(expect)
			if !ok {
				return
			}
			env := make(map[string]string, len(entries))
			for _, e := range entries {
				if wrong := checkEnvName(e.key); wrong != "" {
					g.fail(e.keyRng, fmt.Sprintf("invalid name %q in %s", e.key, g.name), "%s", wrong)
				}
				s, is := e.str("a string")
				if is && strings.ContainsRune(s, 0) {
					e.bad("It contains a NUL character.")
				}
				env[e.key] = s
			}
			*dst = env
		},
		show: func() string {
			if *dst == nil {
				return ""
			}
			var parts []string
			for _, k := range slices.Sorted(maps.Keys(*dst)) {
				parts = append(parts, fmt.Sprintf("%s = %q", k, (*dst)[k]))
			}
			return "{ " + strings.Join(parts, ", ") + " }"
		},
	}
}

// inherited reads the names of variables that a host gets from the
// supervisor's own environment.
func inherited(dst *[]string) setting {
	const expect = `a list of names such as ["PATH", "HOME"]`
	return setting{expect: expect,
		read: func(g given) {
			names, ok := g.distinct(expect)
			for _, n := range names {
				s := n.val.AsString()
				if wrong := checkEnvName(s); wrong != "" {
					n.fail(n.rng, fmt.Sprintf("invalid name %q in %s", s, g.name), "%s", wrong)
					ok = false
				}
			}
			if ok {
				*dst = values(names)
			}
		},
		show: func() string { return showStrings(*dst) },
	}
}

// hostNames reads names of hosts; places is called with each.
func hostNames(dst *[]string, places *[]given) setting {
	const expect = `a list of names of hosts such as ["db"]`
	return setting{expect: expect,
		read: func(g given) {
			if names, ok := g.distinct(expect); ok {
				*dst, *places = values(names), names
			}
		},
		show: func() string { return showStrings(*dst) },
	}
}

// distinct returns the strings of a list without duplicates. It returns false if the
// list has other elements.
func (g given) distinct(want string) ([]given, bool) {
	hint := ""
	if g.val.Type() == cty.String && !g.val.IsNull() {
		hint = fmt.Sprintf("Write [%q].", g.val.AsString())
	}
	elems, ok := g.elements(want, hint)
	if !ok {
		return nil, false
	}
	seen := map[string]bool{}
	out := elems[:0:0]
	for _, e := range elems {
		s, is := e.str("a string")
		if !is {
			ok = false
			continue
		}
		out = append(out, e)
		if seen[s] {
			e.bad("%q is in the list already.", s)
			ok = false
		}
		seen[s] = true
	}
	return out, ok
}

func values(elems []given) []string {
	out := make([]string, 0, len(elems))
	for _, e := range elems {
		out = append(out, e.val.AsString())
	}
	return out
}

// exits reads exit codes and signals.
func exits(dst *[]lifecycle.ExitStatus) setting {
	const expect = `a list of exit codes and signals such as [3, "SIGTERM"]`
	return setting{expect: expect,
		read: func(g given) {
			elems, ok := g.elements(expect, "")
			if !ok {
				return
			}
			out := make([]lifecycle.ExitStatus, 0, len(elems))
			for _, e := range elems {
				if e.val.Type() == cty.Number && !e.val.IsNull() {
					n, exact := e.val.AsBigFloat().Int64()
					if exact != big.Exact || n < 0 || n > 255 {
						e.bad("%s is not an exit code; they go from 0 to 255. A signal is written by its name.", plain(e.val))
						continue
					}
					out = append(out, lifecycle.ExitStatus{Code: int(n)})
					continue
				}
				if n, is := e.signal(`an exit code from 0 to 255 or a signal such as "SIGTERM"`); is {
					out = append(out, lifecycle.ExitStatus{Signal: n})
				}
			}
			*dst = out
		},
		show: func() string {
			if *dst == nil {
				return ""
			}
			var parts []string
			for _, e := range *dst {
				if e.Signal != 0 {
					parts = append(parts, fmt.Sprintf("%q", signame.Of(e.Signal)))
				} else {
					parts = append(parts, fmt.Sprint(e.Code))
				}
			}
			return "[" + strings.Join(parts, ", ") + "]"
		},
	}
}

// anything reads a value of any shape into plain Go values: nil, bool, int64,
// uint64 and float64, string, []any and map[string]any.
func anything(dst *any) setting {
	return setting{expect: "any value",
		read: func(g given) {
			v, err := goValue(g.val)
			if err != nil {
				g.bad("%s.", upperFirst(err.Error()))
				return
			}
			*dst = v
		},
		show: func() string {
			if *dst == nil {
				return ""
			}
			text, err := json.Marshal(*dst)
			if err != nil {
				return fmt.Sprint(*dst)
			}
			return string(text)
		},
	}
}

func goValue(v cty.Value) (any, error) {
	t := v.Type()
	switch {
	case v.IsNull():
		return nil, nil
	case t == cty.String:
		return v.AsString(), nil
	case t == cty.Bool:
		return v.True(), nil
	case t == cty.Number:
		return goNumber(v.AsBigFloat())
	case t.IsObjectType() || t.IsMapType():
		out := make(map[string]any, v.LengthInt())
		for k, e := range v.AsValueMap() {
			x, err := goValue(e)
			if err != nil {
				return nil, err
			}
			out[k] = x
		}
		return out, nil
	case t.IsTupleType() || t.IsListType() || t.IsSetType():
		out := make([]any, 0, v.LengthInt())
		for _, e := range v.AsValueSlice() {
			x, err := goValue(e)
			if err != nil {
				return nil, err
			}
			out = append(out, x)
		}
		return out, nil
	}
	return nil, fmt.Errorf("%s cannot be passed to a host", t.FriendlyName())
}

func goNumber(f *big.Float) (any, error) {
	if n, exact := f.Int64(); exact == big.Exact {
		return n, nil
	}
	if n, exact := f.Uint64(); exact == big.Exact {
		return n, nil
	}
	n, _ := f.Float64()
	if n-n != 0 { // infinite
		return nil, fmt.Errorf("the number %s is out of range", f.Text('g', 10))
	}
	return n, nil
}
