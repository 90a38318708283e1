package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/hostsup/hostsup/internal/transport"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/sandbox"
)

// DefaultTimeout is how long a message that must come is waited for.
const DefaultTimeout = 5 * time.Second

// Errors of [Run]; test with errors.Is.
var (
	// ErrCommand means that the command cannot be started.
	ErrCommand = errors.New("the host cannot be started")
	// ErrNoRule means that no rule has a number that matches.
	ErrNoRule = errors.New("no rule matches")
	// ErrTransport means that a transport does not exist.
	ErrTransport = errors.New("no such transport, there are fd, stdio and unix")
)

// Transports are the names of the transports, in the order in which they are played.
func Transports() []string {
	return []string{string(hostspec.TransportFD), string(hostspec.TransportStdio), string(hostspec.TransportUnix)}
}

// Options say which host is played, and how.
type Options struct {
	Command    []string      // the program, which is looked for in PATH, and its arguments
	Env        []string      // "K=V", its whole environment; nil: that of this process
	Dir        string        // its working folder; "": that of this process
	Transports []string      // of [Transports]; nil: fd
	Rules      string        // pattern of numbers as of path.Match, such as "S*"; "": all
	Required   bool          // advised rules are left out
	Timeout    time.Duration // how long a message that must come is waited for; 0: [DefaultTimeout]

	// Done, if not nil, is called with each result as soon as there is one, on the goroutine
	// of Run.
	Done func(Result)
}

// Outcome is how the play of a rule has ended.
type Outcome string

// The outcomes.
const (
	Passed    Outcome = "passed"
	Broken    Outcome = "broken"
	NotKept   Outcome = "advised"   // the rule is [Advised], and the host does not keep it
	Skipped   Outcome = "skipped"   // the host does not have what the rule takes
	Undecided Outcome = "undecided" // another rule was broken on the way, and is reported
)

// Result is one rule over one transport.
type Result struct {
	Rule      Rule
	Transport string
	Outcome   Outcome
	Sent      []string // messages of the supervisor's side, in order
	Expected  string
	Got       string
	Took      time.Duration
}

// Report is what [Run] has found.
type Report struct {
	Command []string
	Results []Result
}

// Count returns the number of results with an outcome.
func (r *Report) Count(o Outcome) (n int) {
	for i := range r.Results {
		if r.Results[i].Outcome == o {
			n++
		}
	}
	return n
}

// Run plays the rules against the host that the command starts, each against a process of
// its own. It returns when all processes are gone. The error is [ErrCommand], [ErrNoRule],
// [ErrTransport], that of ctx, or one of the system; rules that are broken are in the report
// only.
func Run(ctx context.Context, o Options) (*Report, error) {
	if len(o.Command) == 0 {
		return nil, fmt.Errorf("%w: the command is empty", ErrCommand)
	}
	rules, err := chosen(o.Rules, o.Required)
	if err != nil {
		return nil, err
	}
	if o.Transports == nil {
		o.Transports = Transports()[:1]
	}
	for _, t := range o.Transports {
		if !slices.Contains(Transports(), t) {
			return nil, fmt.Errorf("%q: %w", t, ErrTransport)
		}
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	g, err := newProgram(&o)
	if err != nil {
		return nil, err
	}
	report := &Report{Command: o.Command}
	err = g.playAll(ctx, &o, rules, report)
	return report, errors.Join(err, g.launcher.Close(), g.folders.Close())
}

// playAll plays the rules over the transports.
func (g *program) playAll(ctx context.Context, o *Options, rules []Rule, report *Report) error {
	for _, t := range o.Transports {
		blamed := make(map[string]Result)
		first := len(report.Results)
		for i := range rules {
			r := &rules[i]
			if r.Only != "" && r.Only != t {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			res, other, err := g.judge(ctx, o, r, t)
			if err != nil {
				return err
			}
			if other != "" {
				blamed[other] = res
				res.Outcome, res.Got = Undecided, fmt.Sprintf("rule %s was broken on the way: %s", other, res.Got)
			}
			report.Results = append(report.Results, res)
			if o.Done != nil {
				o.Done(res)
			}
		}
		charge(report, report.Results[first:], blamed, o, t)
	}
	return nil
}

// charge reports the rules that were broken during the plays of others, where their own plays
// have not found that.
func charge(report *Report, played []Result, blamed map[string]Result, o *Options, t string) {
	all := Rules()
	for _, id := range slices.Sorted(keysOf(blamed)) {
		res := blamed[id]
		i := slices.IndexFunc(played, func(r Result) bool { return r.Rule.ID == id })
		switch {
		case i >= 0 && played[i].Outcome == Broken:
			continue
		case i >= 0:
			played[i].Outcome, played[i].Sent, played[i].Expected, played[i].Got = Broken, res.Sent, res.Expected, res.Got
			res = played[i]
		default:
			at := slices.IndexFunc(all, func(r Rule) bool { return r.ID == id })
			res = Result{Rule: all[at], Transport: t, Outcome: Broken, Sent: res.Sent, Expected: res.Expected, Got: res.Got}
			report.Results = append(report.Results, res)
		}
		if o.Done != nil {
			o.Done(res)
		}
	}
}

func keysOf(m map[string]Result) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// chosen returns the rules whose number matches, without those that are advised if they are
// to be left out.
func chosen(pattern string, required bool) ([]Rule, error) {
	var out []Rule
	all := Rules()
	for _, r := range all {
		ok, err := path.Match(cmp.Or(pattern, "*"), r.ID)
		if err != nil {
			return nil, fmt.Errorf("%w %q: %w", ErrNoRule, pattern, err)
		}
		if ok && r.play != nil && !(required && r.Level == Advised) {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w %q; the numbers are %s to %s", ErrNoRule, pattern, all[0].ID, all[len(all)-1].ID)
	}
	return out, nil
}

// newProgram finds the program.
func newProgram(o *Options) (*program, error) {
	env := o.Env
	if env == nil {
		env = os.Environ()
	}
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return strings.HasPrefix(kv, "HOSTSUP_HOST_") })
	search := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			search = v
		}
	}
	file, err := sandbox.LookPath(o.Command[0], o.Dir, search)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCommand, err)
	}
	launcher, err := sandbox.NewLauncher(sandbox.Options{})
	if err != nil {
		return nil, err
	}
	return &program{launcher: launcher, folders: new(transport.Folders), path: file, args: o.Command, env: env, dir: o.Dir}, nil
}

// judge plays one rule. If another one was broken on the way, other is its number. An error
// is one of the system, and leaves the rule undecided.
func (g *program) judge(ctx context.Context, o *Options, r *Rule, t string) (res Result, other string, err error) {
	began := time.Now()
	p := &play{ctx: ctx, rule: r, program: g, transport: hostspec.Transport(t), timeout: o.Timeout}
	v := p.run()
	if p.host != nil {
		err = p.stop()
	}
	res = Result{Rule: *r, Transport: t, Outcome: v.outcome, Sent: p.sent, Expected: p.expected, Got: p.got, Took: time.Since(began)}
	if v.got != "" {
		res.Got = v.got
	}
	if v.outcome == Broken && v.rule != "" && v.rule != r.ID {
		return res, v.rule, err
	}
	if v.outcome == Broken && r.Level == Advised {
		res.Outcome = NotKept
	}
	return res, "", err
}

// run plays the rule up to its verdict.
func (p *play) run() (v verdict) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case verdict:
			v = r
		default:
			panic(r)
		}
	}()
	p.rule.play(p)
	return verdict{outcome: Passed}
}
