//go:build linux

package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Patience is how long a step may take. One that needs it all has failed.
const Patience = 3 * time.Minute

// silence is how long a server that is known not to answer is listened to.
const silence = 1500 * time.Millisecond

// Entry is what came back in one step.
type Entry struct {
	Step  string // its number in the scenario, and its name
	Value any    // as encoding/json decodes into an any
}

// Record is what came back in a scenario.
type Record []Entry

// player plays one scenario against one side.
type player struct {
	side    *Side
	sc      Scenario
	on      string
	dir     string // the scenario's own folder
	server  *listener
	links   map[string]*link
	cur     string
	session string // the last one
	asked   map[string]string
	writes  int
	masks   []string // pairs, for a strings.Replacer
}

// link is a connection of a scenario.
type link struct {
	conn
	next    int
	started map[string]int // the number of messages there were when a process's start was answered, by its id
}

// Play plays a scenario over a transport.
func (s *Side) Play(ctx context.Context, sc Scenario, on string) (rec Record, err error) {
	dir, err := os.MkdirTemp(filepath.Join(s.Dir(), "play"), "")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left the check at the end of all tests finds
	// Random names differ in length; those of both sides must not.
	short := filepath.Join(s.Dir(), "play", strings.ReplaceAll(sc.Theme+"-"+sc.Name, " ", "-")+"-"+on)
	if err := errors.Join(os.Chmod(dir, 0o755), os.Rename(dir, short)); err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(short) }()
	p := &player{side: s, sc: sc, on: on, dir: short, links: map[string]*link{}, cur: "1", asked: map[string]string{}}
	p.masks = []string{s.Web, "$WEB", "file://" + short + "/", "@/", short, "$DIR", s.Dir(), "$SIDE", s.Home, "$HOME"}
	if on == WS {
		var stop func()
		if p.server, stop, err = s.listener(sc, p.flags()); err != nil {
			return nil, err
		}
		defer stop()
	}
	defer func() {
		for _, l := range p.links {
			l.close()
		}
	}()
	for i, step := range sc.Steps {
		name := fmt.Sprintf("%d %s", i+1, step.Name())
		v, err := p.step(ctx, step)
		switch {
		case errors.Is(err, errOver):
			v = errOver.Error()
		case err != nil:
			return rec, fmt.Errorf("%s: %s.txt:%d: %s: %w; it has said %s", s.Name, sc.Theme, step.Line, name, err, p.heard())
		}
		if v != nil {
			rec = append(rec, Entry{name, p.normal(v)})
		}
	}
	return append(rec, Entry{"end", p.normal(p.left())}), nil
}

func (p *player) step(ctx context.Context, s Step) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	return verbs[s.Verb](p, ctx, p.expand(s.Rest))
}

// flags are those of the scenario's own server.
func (p *player) flags() []string {
	out := make([]string, len(p.sc.Flags))
	for i, f := range p.sc.Flags {
		out[i] = p.expand(f)
	}
	return out
}

var repeat = regexp.MustCompile(`\$REPEAT\((\d+)\)`)

// expand puts in what is different for each side.
func (p *player) expand(s string) string {
	s = strings.NewReplacer("@/", "file://"+p.dir+"/", "$DIR", p.dir, "$WEB", p.side.Web, "$PORT", p.side.Web[strings.LastIndexByte(p.side.Web, ':')+1:], "$SESSION", p.session, "$SIDE", p.side.Dir()).Replace(s)
	return repeat.ReplaceAllStringFunc(s, func(m string) string {
		n, _ := strconv.Atoi(repeat.FindStringSubmatch(m)[1]) // it is a number
		return strings.Repeat("x", n)
	})
}

// link is the current connection, which is made when it is first needed.
func (p *player) link(ctx context.Context) (*link, error) {
	if l := p.links[p.cur]; l != nil {
		return l, nil
	}
	if err := p.connect(ctx, nil); err != nil {
		return nil, err
	}
	l := p.links[p.cur]
	if !p.sc.Raw {
		if _, err := hello(p, ctx, ""); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (p *player) connect(ctx context.Context, header http.Header) error {
	if p.links[p.cur] != nil {
		return fmt.Errorf("connection %s is there already", p.cur)
	}
	var c conn
	var err error
	if p.on == WS {
		c, err = dial(ctx, p.server.url, header)
	} else {
		grace := Patience / 4
		if !p.side.Strict { // it may hang
			grace = silence
		}
		c, err = spawn(p.side.command(Stdio, p.flags()), grace)
	}
	if err != nil {
		return err
	}
	p.links[p.cur] = &link{conn: c, started: map[string]int{}}
	return nil
}

// request sends a request and returns its id.
func (p *player) request(ctx context.Context, l *link, method, params string) (string, error) {
	l.next++
	id := strconv.Itoa(l.next)
	text := fmt.Sprintf(`{"id":%s,"method":%q}`, id, method)
	if params != "" {
		text = fmt.Sprintf(`{"id":%s,"method":%q,"params":%s}`, id, method, params)
	}
	return id, l.send(ctx, []byte(text), false)
}

// answer waits for the answer to a request.
func (p *player) answer(ctx context.Context, l *link, id string) (*message, error) {
	return l.box().take(ctx, func(m *message) bool { return m.Method == "" && m.id() == id })
}

// call makes a request on the current connection and waits for its answer.
func (p *player) call(ctx context.Context, method, params string) (*message, error) {
	l, err := p.link(ctx)
	if err != nil {
		return nil, err
	}
	id, err := p.request(ctx, l, method, params)
	if err != nil {
		return nil, err
	}
	return p.answer(ctx, l, id)
}

// left is what no step was about: of all connections, in no order.
func (p *player) left() any {
	out := []any{}
	for _, name := range slices.Sorted(maps.Keys(p.links)) {
		for _, text := range p.links[name].box().left() {
			out = append(out, decode(text))
		}
	}
	return out
}

// heard is what has come so far, for an error.
func (p *player) heard() string {
	var out strings.Builder
	for name, l := range p.links {
		b := l.box()
		b.mu.Lock()
		for _, m := range b.all[max(0, len(b.all)-20):] {
			fmt.Fprintf(&out, "\n  %s: %.300s", name, m.text)
		}
		b.mu.Unlock()
	}
	return out.String()
}

// decode is a JSON text as a value.
func decode(text []byte) any {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return "not JSON: " + string(text)
	}
	return v
}
