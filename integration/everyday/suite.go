package everyday

import (
	"bufio"
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Level is how much a thing may do.
type Level string

// The levels. With all of them everything can be read.
const (
	ReadOnly  Level = "read-only"       // nothing is written, no network
	Workspace Level = "workspace-write" // the workspace, /tmp and $TMPDIR are written, no network
	Network   Level = "network"         // the same with the whole network
	AllowList Level = "allow-list"      // the same with one address of the network
)

// Levels are all levels, the strictest first.
var Levels = []Level{ReadOnly, Workspace, Network, AllowList}

// Kind says what an exception is about.
type Kind string

// The kinds.
const (
	Denied  Kind = "denied"  // the policy does not allow it
	Differs Kind = "differs" // ours does it otherwise than without confinement, and no policy asked for that
	Real    Kind = "real"    // the program whose protocol it is does it otherwise than ours, or lets happen what ours denies
)

// Suite is the list.
type Suite struct {
	Home    string // script that prepares the home and temporary folders of a user
	Reasons []*Reason
	Groups  []Group
}

// Group is things of a kind.
type Group struct {
	Name   string
	Things []*Thing
}

// Reason is why something ends otherwise.
type Reason struct {
	Name  string         // a few words for the table
	Shows *regexp.Regexp // what the output of the thing must then have
	Why   string         // a sentence
}

// Need is a program that a thing runs.
type Need struct {
	Program  string // a name that the shell finds, or a path
	Package  string // of Debian
	Optional bool   // ./test does not install it
}

// Thing is one ordinary thing.
type Thing struct {
	Name       string
	Line       int // in the list
	Needs      []Need
	Once       string // script that prepares the folder that all share, and runs in it; "" for none
	Setup      string // script that prepares the workspace; "" for none
	Run        string // the thing itself
	TTY        bool   // it has a terminal
	Account    bool   // it is for users with an account
	Exceptions []*Exception
}

// Exception is where a thing ends otherwise.
type Exception struct {
	Kind   Kind
	Levels []Level
	User   string // "root" or "user"; "" is both
	Reason *Reason
}

// For returns the exception of a kind at a level for a user, nil for none.
func (t *Thing) For(kind Kind, l Level, user string) *Exception {
	for _, e := range t.Exceptions {
		if e.Kind == kind && slices.Contains(e.Levels, l) && (e.User == "" || e.User == user) {
			return e
		}
	}
	return nil
}

// Parse reads a list. A line is a statement; lines that begin with a tab go on
// with the one before it; # begins a comment.
//
//	home SCRIPT
//	reason NAME "PATTERN" SENTENCE
//	= GROUP
//	== THING
//	needs PROGRAM from PACKAGE [optional]
//	once SCRIPT|as THING
//	setup SCRIPT
//	run SCRIPT
//	tty
//	account
//	denied|differs|real LEVEL[,LEVEL…] [as root|user] because NAME
//
// The level "all" stands for all levels. The pattern of a reason is one of
// package regexp.
func Parse(text []byte) (*Suite, error) {
	s := &Suite{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	var statement string
	begun := 0
	flush := func() error {
		if statement == "" {
			return nil
		}
		verb, rest, _ := strings.Cut(statement, " ")
		statement = ""
		if err := s.add(begun, verb, strings.TrimSpace(rest)); err != nil {
			return fmt.Errorf("line %d: %w", begun, err)
		}
		return nil
	}
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimRight(lines.Text(), " ")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '\t':
			if statement == "" {
				return nil, fmt.Errorf("line %d: there is no statement to go on with", n)
			}
			statement += "\n" + line[1:]
		default:
			if err := flush(); err != nil {
				return nil, err
			}
			statement, begun = line, n
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if err := flush(); err != nil {
		return nil, err
	}
	return s, s.check()
}

func (s *Suite) add(line int, verb, rest string) error {
	switch verb {
	case "home":
		return once(&s.Home, verb, rest)
	case "reason":
		return s.addReason(rest)
	case "=":
		s.Groups = append(s.Groups, Group{Name: rest})
		return nil
	case "==":
		if len(s.Groups) == 0 {
			return fmt.Errorf("%q is in no group", rest)
		}
		g := &s.Groups[len(s.Groups)-1]
		g.Things = append(g.Things, &Thing{Name: rest, Line: line})
		return nil
	}
	if len(s.Groups) == 0 || len(s.Groups[len(s.Groups)-1].Things) == 0 {
		return fmt.Errorf("%q is about no thing", verb)
	}
	things := s.Groups[len(s.Groups)-1].Things
	return s.describe(things[len(things)-1], verb, rest)
}

// once sets a script that a statement has.
func once(script *string, verb, rest string) error {
	if *script != "" || rest == "" {
		return fmt.Errorf("%q has to be there once, with a script", verb)
	}
	*script = rest
	return nil
}

func (s *Suite) describe(t *Thing, verb, rest string) error {
	switch verb {
	case "once":
		if name, ok := strings.CutPrefix(rest, "as "); ok {
			other := s.thing(name)
			if other == nil {
				return fmt.Errorf("once as %q, which is not above", name)
			}
			rest = other.Once
		}
		return once(&t.Once, verb, rest)
	case "setup":
		return once(&t.Setup, verb, rest)
	case "run":
		return once(&t.Run, verb, rest)
	case "tty":
		t.TTY = true
		return nil
	case "account":
		t.Account = true
		return nil
	case "needs":
		f := strings.Fields(rest)
		if (len(f) != 3 && (len(f) != 4 || f[3] != "optional")) || f[1] != "from" {
			return fmt.Errorf("needs %q: expected PROGRAM from PACKAGE [optional]", rest)
		}
		t.Needs = append(t.Needs, Need{Program: f[0], Package: f[2], Optional: len(f) == 4})
		return nil
	case string(Denied), string(Differs), string(Real):
		return s.except(t, Kind(verb), rest)
	}
	return fmt.Errorf("no statement %q", verb)
}

func (s *Suite) addReason(rest string) error {
	name, rest, _ := strings.Cut(rest, " ")
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return fmt.Errorf("reason %s: expected a pattern in quotes", name)
	}
	pattern, err := strconv.Unquote(quoted)
	if err != nil {
		return err
	}
	shows, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	if s.reason(name) != nil {
		return fmt.Errorf("reason %s is there already", name)
	}
	why := strings.TrimSpace(rest[len(quoted):])
	if why == "" {
		return fmt.Errorf("reason %s has no sentence", name)
	}
	s.Reasons = append(s.Reasons, &Reason{Name: name, Shows: shows, Why: strings.ReplaceAll(why, "\n", " ")})
	return nil
}

func (s *Suite) reason(name string) *Reason {
	i := slices.IndexFunc(s.Reasons, func(r *Reason) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return s.Reasons[i]
}

func (s *Suite) thing(name string) *Thing {
	for _, g := range s.Groups {
		for _, t := range g.Things {
			if t.Name == name {
				return t
			}
		}
	}
	return nil
}

func (s *Suite) except(t *Thing, kind Kind, rest string) error {
	e := &Exception{Kind: kind, Levels: Levels}
	who, name, ok := strings.Cut(rest, " because ")
	if e.Reason = s.reason(name); !ok || e.Reason == nil {
		return fmt.Errorf("%s %q: expected a reason that is named above", kind, rest)
	}
	at, user, _ := strings.Cut(who, " as ")
	if e.User = user; user != "" && user != "root" && user != "user" {
		return fmt.Errorf("%s %q: expected as root or as user", kind, rest)
	}
	if at != "all" {
		e.Levels = nil
		for l := range strings.SplitSeq(at, ",") {
			if !slices.Contains(Levels, Level(l)) {
				return fmt.Errorf("%s %q: no level %q", kind, rest, l)
			}
			e.Levels = append(e.Levels, Level(l))
		}
	}
	t.Exceptions = append(t.Exceptions, e)
	return nil
}

// check says what a whole list lacks, or has too much of.
func (s *Suite) check() error {
	names := map[string]bool{}
	used := map[*Reason]bool{}
	for _, g := range s.Groups {
		for _, t := range g.Things {
			switch {
			case t.Run == "":
				return fmt.Errorf("line %d: %q does nothing", t.Line, t.Name)
			case names[t.Name]:
				return fmt.Errorf("line %d: %q is there already", t.Line, t.Name)
			}
			names[t.Name] = true
			for i, e := range t.Exceptions {
				used[e.Reason] = true
				for _, o := range t.Exceptions[:i] {
					if overlap(e, o) {
						return fmt.Errorf("line %d: %q has two exceptions for the same", t.Line, t.Name)
					}
				}
			}
		}
	}
	for _, r := range s.Reasons {
		if !used[r] {
			return fmt.Errorf("reason %s is used by nothing", r.Name)
		}
	}
	return nil
}

// overlap reports whether two exceptions say the same of a level and a user.
func overlap(a, b *Exception) bool {
	return a.Kind == b.Kind && (a.User == "" || b.User == "" || a.User == b.User) &&
		slices.ContainsFunc(a.Levels, func(l Level) bool { return slices.Contains(b.Levels, l) })
}
