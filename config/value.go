package config

import (
	"fmt"
	"math"
	"math/big"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/hostsup/hostsup/sandbox/policy"

	"github.com/hostsup/hostsup/internal/signame"
	"github.com/hostsup/hostsup/internal/span"
	"sync"
)

// setting is one argument of a block: its name, how to read it into the spec, and
// its text in the reference. The tables of settings are the schema of the file, the
// reference and, through show, the list of defaults at once.
type setting struct {
	name     string
	doc      string
	expect   string      // what may be written: `a duration such as "5s"`
	read     func(given) // stores the value or records what is wrong with it
	show     func() string
	required bool
	speaks   bool // needs a protocol

	// sift, if set, removes the parts of the expression that are not evaluated.
	sift func(*reader, hcl.Expression) hcl.Expression
}

// never is written instead of a duration to disable it.
const never = "never"

const durationForm = `a duration such as "500ms", "5s" or "1h30m"`

// duration reads a duration above zero. With orNever, "never" sets *orNever and
// leaves the duration unchanged.
func duration(dst *time.Duration, orNever *bool) setting {
	expect := durationForm
	if orNever != nil {
		expect += fmt.Sprintf(", or %q", never)
	}
	return setting{expect: expect,
		read: func(g given) {
			if g.val.Type() == cty.Number {
				g.wrongType(expect, fmt.Sprintf("A duration has a unit: %q.", plain(g.val)+"s"))
				return
			}
			text, ok := g.str(expect)
			if !ok {
				return
			}
			if orNever != nil {
				if *orNever = text == never; *orNever {
					return
				}
			}
			d, err := time.ParseDuration(text)
			switch {
			case err != nil:
				g.bad("%q is not %s.%s", text, expect, meantDuration(text, orNever != nil))
			case d <= 0:
				g.bad("%s is too short: it must be more than zero.", text)
			default:
				*dst = d
			}
		},
		show: func() string {
			if orNever != nil && *orNever {
				return strconv.Quote(never)
			}
			return strconv.Quote(span.Of(*dst))
		},
	}
}

var looseDuration = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*(\d+(?:\.\d+)?)\s*([\pL]*)\s*$`) })

// units maps spellings of units of time that Go does not know to a factor and a unit
// that it knows.
var units = map[string]struct {
	times int
	unit  string
}{
	"": {1, "s"}, "msec": {1, "ms"}, "millis": {1, "ms"}, "millisecond": {1, "ms"},
	"sec": {1, "s"}, "second": {1, "s"}, "min": {1, "m"}, "minute": {1, "m"},
	"hr": {1, "h"}, "hour": {1, "h"}, "d": {24, "h"}, "day": {24, "h"}, "w": {168, "h"}, "week": {168, "h"},
	"ms": {1, "ms"}, "s": {1, "s"}, "m": {1, "m"}, "h": {1, "h"}, "us": {1, "us"}, "ns": {1, "ns"},
}

func meantDuration(text string, orNever bool) string {
	if orNever {
		if s := didYouMean(text, []string{never}); s != "" {
			return s
		}
	}
	m := looseDuration().FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	name := strings.ToLower(m[2])
	u, ok := units[name]
	if !ok {
		if u, ok = units[strings.TrimSuffix(name, "s")]; !ok {
			return ""
		}
	}
	n := m[1]
	if u.times > 1 {
		f, err := strconv.ParseFloat(n, 64)
		if err != nil {
			return ""
		}
		n = strconv.FormatFloat(f*float64(u.times), 'f', -1, 64)
	}
	if _, err := time.ParseDuration(n + u.unit); err != nil {
		return ""
	}
	return fmt.Sprintf(" Did you mean %q?", n+u.unit)
}

const sizeForm = `a size such as "512KiB", "16MiB" or "1GiB"`

var (
	sizePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d+)(KiB|MiB|GiB)$`) })
	looseSize   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*(\d+)\s*([kKmMgG])?(?:i?[bB])?\s*$`) })
	sizeUnits   = map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
)

// size reads a number of bytes from least to most.
func size[T int | int64](dst *T, least, most T) setting {
	return setting{expect: sizeForm,
		read: func(g given) {
			if g.val.Type() == cty.Number {
				g.wrongType(sizeForm, "A size has a unit, also when it is a number of bytes.")
				return
			}
			text, ok := g.str(sizeForm)
			if !ok {
				return
			}
			m := sizePattern().FindStringSubmatch(text)
			if m == nil {
				g.bad("%q is not %s.%s", text, sizeForm, meantSize(text))
				return
			}
			n, err := strconv.ParseInt(m[1], 10, 64)
			unit := sizeUnits[m[2]]
			switch {
			case err != nil || n > int64(most)/unit:
				g.bad("%s is more than the %s it can be at most.", text, showSize(int64(most)))
			case n*unit < int64(least):
				g.bad("%s is less than the %s it must be at least.", text, showSize(int64(least)))
			default:
				*dst = T(n * unit)
			}
		},
		show: func() string { return strconv.Quote(showSize(int64(*dst))) },
	}
}

func meantSize(text string) string {
	m := looseSize().FindStringSubmatch(text)
	if m == nil || m[2] == "" {
		return ""
	}
	return fmt.Sprintf(" Did you mean %q?", m[1]+strings.ToUpper(m[2])+"iB")
}

func showSize(n int64) string { return policy.FormatSize(n) }

// whole reads a whole number from least to most.
func whole(dst *int, least, most int) setting {
	expect := fmt.Sprintf("a whole number from %d to %d", least, most)
	return setting{expect: expect,
		read: func(g given) {
			if f, ok := g.number(expect); ok {
				n, exact := f.Int64()
				if exact != big.Exact || n < int64(least) || n > int64(most) {
					g.bad("%s is not %s.", plain(g.val), expect)
					return
				}
				*dst = int(n)
			}
		},
		show: func() string { return strconv.Itoa(*dst) },
	}
}

// fraction reads a number from least to most.
func fraction(dst *float64, least, most float64) setting {
	expect := fmt.Sprintf("a number from %g to %g", least, most)
	return setting{expect: expect,
		read: func(g given) {
			if f, ok := g.number(expect); ok {
				n, _ := f.Float64()
				if math.IsNaN(n) || n < least || n > most {
					g.bad("%s is not %s.", plain(g.val), expect)
					return
				}
				*dst = n
			}
		},
		show: func() string { return strconv.FormatFloat(*dst, 'g', -1, 64) },
	}
}

// number returns the written number, or records that the value is not a number.
func (g given) number(want string) (*big.Float, bool) {
	if g.val.IsNull() || g.val.Type() != cty.Number {
		hint := ""
		if !g.val.IsNull() && g.val.Type() == cty.String {
			if _, err := strconv.ParseFloat(g.val.AsString(), 64); err == nil {
				hint = fmt.Sprintf("Leave the quotes out: %s.", g.val.AsString())
			}
		}
		g.wrongType(want, hint)
		return nil, false
	}
	return g.val.AsBigFloat(), true
}

// boolean reads true or false; negated stores the opposite.
func boolean(dst *bool, negated bool) setting {
	const expect = "true or false"
	return setting{expect: expect,
		read: func(g given) {
			if g.val.Type() != cty.Bool {
				hint := ""
				if g.val.Type() == cty.String && (g.val.AsString() == "true" || g.val.AsString() == "false") {
					hint = fmt.Sprintf("Leave the quotes out: %s.", g.val.AsString())
				}
				g.wrongType(expect, hint)
				return
			}
			*dst = g.val.True() != negated
		},
		show: func() string { return strconv.FormatBool(*dst != negated) },
	}
}

// either reads one of two words, of which yes sets dst.
func either(dst *bool, no, yes string) setting {
	word := no
	if *dst {
		word = yes
	}
	s := choice(&word, no, yes)
	read := s.read
	s.read = func(g given) {
		read(g)
		*dst = word == yes
	}
	return s
}

// choice reads one of a few words.
func choice[T ~string](dst *T, words ...T) setting {
	names := make([]string, len(words))
	for i, w := range words {
		names[i] = string(w)
	}
	expect := quoted(names, "or")
	return setting{expect: expect,
		read: func(g given) {
			text, ok := g.str(expect)
			if !ok {
				return
			}
			for _, w := range words {
				if string(w) == text {
					*dst = w
					return
				}
			}
			g.bad("%q is not one of %s.%s", text, quoted(names, "and"), didYouMean(text, names))
		},
		show: func() string {
			if *dst == "" {
				return ""
			}
			return strconv.Quote(string(*dst))
		},
	}
}

// text reads a string; only optional strings may be empty.
func text(dst *string) setting {
	const expect = "a string"
	return setting{expect: expect,
		read: func(g given) {
			s, ok := g.str(expect)
			switch {
			case !ok:
			case s == "":
				g.bad("It is empty. Leave %s out where it is not needed.", g.name)
			case strings.ContainsRune(s, 0):
				g.bad("It contains a NUL character.")
			default:
				*dst = s
			}
		},
		show: func() string {
			if *dst == "" {
				return ""
			}
			return strconv.Quote(*dst)
		},
	}
}

// checked is text with a check of its own, which is called with a value that is not the
// one before.
func checked(dst *string, expect string, check func(g given)) setting {
	s := text(dst)
	s.expect = expect
	read := s.read
	s.read = func(g given) {
		was := *dst
		if read(g); *dst != was {
			check(g)
		}
	}
	return s
}

// path reads a path and makes it absolute, from the folder of the file.
func path(dst *string, more func(given, string)) setting {
	const expect = "a path"
	s := text(dst)
	s.expect = expect
	s.read = func(g given) {
		p, ok := g.str(expect)
		switch {
		case !ok:
		case p == "":
			g.bad("It is empty. Leave %s out to use the default.", g.name)
		case strings.ContainsRune(p, 0):
			g.bad("It contains a NUL character.")
		case p == "~" || strings.HasPrefix(p, "~/"):
			g.bad("%q would be a folder named ~; no shell reads it. Write \"${env(\"HOME\")}%s\".", p, p[1:])
		default:
			*dst = g.abs(p)
			if more != nil {
				more(g, *dst)
			}
		}
	}
	return s
}

// abs makes p absolute, from the folder of the file.
func (r *reader) abs(p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(r.dir, p)
}

const signalForm = `a signal such as "SIGTERM", "INT" or 15`

// signal reads the name or number of a signal.
func signal(dst *syscall.Signal) setting {
	return setting{expect: signalForm,
		read: func(g given) {
			if n, ok := g.signal(signalForm); ok {
				*dst = syscall.Signal(n)
			}
		},
		show: func() string { return strconv.Quote(signame.Of(int(*dst))) },
	}
}

const lastSignal = 64

func (g given) signal(want string) (int, bool) {
	if g.val.Type() == cty.Number && !g.val.IsNull() {
		n, exact := g.val.AsBigFloat().Int64()
		if exact != big.Exact || n < 1 || n > lastSignal {
			g.bad("%s is not the number of a signal; they go from 1 to %d.", plain(g.val), lastSignal)
			return 0, false
		}
		return int(n), true
	}
	if g.val.IsNull() || g.val.Type() != cty.String {
		g.wrongType(want, "")
		return 0, false
	}
	text := g.val.AsString()
	if n := signame.Number(text); n > 0 {
		return n, true
	}
	full := strings.ToUpper(text)
	if !strings.HasPrefix(full, "SIG") {
		full = "SIG" + full
	}
	var names []string
	for n := 1; n <= lastSignal; n++ {
		if name := signame.Of(n); strings.HasPrefix(name, "SIG") {
			names = append(names, name)
		}
	}
	g.bad("There is no signal %q.%s", text, didYouMean(full, names))
	return 0, false
}
