package evidence

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/reports"
	"github.com/hostsup/hostsup/internal/version"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// Options configures a [Keeper]. The zero value is usable.
type Options struct {
	MaxAge     time.Duration // of a report; 0: however old it is
	MaxSize    int64         // bytes of all reports; 0: any size
	MaxReports int           // default 10,000

	// Samples returns what is known of the resources of a life since a time, oldest first. nil: nothing.
	Samples func(host string, life uint64, since time.Time) []Sample
}

// Sample is what is known of the process tree of a host at one moment. Unknown figures are nil.
type Sample struct {
	Time    time.Time
	Memory  *int64   // bytes
	CPU     *float64 // cores
	Pending *int     // requests
}

// Keeper implements [supervisor.Evidence]. It can be used for one tree. Make it with [New].
type Keeper struct {
	opt   Options
	world *actors.World
	store *reports.Store[record.CrashReport]
	index *index // nil: in memory only
	held  atomic.Int64

	mu    sync.Mutex
	hosts map[string]*recorder
	fresh map[string]Summary // of reports that are not in the index yet
}

var _ supervisor.Evidence = (*Keeper)(nil)

// New returns a keeper.
func New(opt Options) *Keeper {
	opt.MaxReports = cmp.Or(opt.MaxReports, 10_000)
	return &Keeper{opt: opt, hosts: map[string]*recorder{}, fresh: map[string]Summary{}}
}

// Open implements [supervisor.Evidence]. The index of a folder is the file of its name with the
// extension .index; what is missing or damaged in it is read again from the reports.
func (k *Keeper) Open(dir string, world *actors.World) (actors.Reports, error) {
	k.world = world
	failed := func(err error) { world.Log.Warn("crash reports", "error", err) }
	opt := reports.Options{Keep: k.opt.MaxReports, MaxAge: k.opt.MaxAge, MaxSize: k.opt.MaxSize, OnError: failed}
	if dir != "" {
		k.index = openIndex(dir+".index", failed)
		k.index.stored = k.stored
		opt.Index = k.index
	}
	store, err := reports.Open[record.CrashReport](dir, opt)
	if err != nil {
		if k.index != nil {
			err = errors.Join(err, k.index.close())
		}
		return nil, err
	}
	k.store = store
	return k, nil
}

// Interceptors implements [supervisor.Evidence].
func (k *Keeper) Interceptors(host *actors.Ref) []*actors.Interceptor {
	if host.Encoding() == nil {
		return nil // it has no messages
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.hosts[host.Name()]
	if r == nil || r.host != host {
		r = &recorder{host: host, keep: k, lives: map[uint64]*life{}}
		k.hosts[host.Name()] = r
	}
	return r.interceptors()
}

func (k *Keeper) leave(r *recorder) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.hosts[r.host.Name()] == r {
		delete(k.hosts, r.host.Name())
	}
}

// Run forgets messages of hosts that have become silent, until ctx ends. Without it they stay in
// memory until the host has another message.
func (k *Keeper) Run(ctx context.Context) {
	tick := time.NewTicker(Window)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		k.mu.Lock()
		hosts := make([]*recorder, 0, len(k.hosts))
		for _, r := range k.hosts {
			hosts = append(hosts, r)
		}
		k.mu.Unlock()
		for _, r := range hosts {
			r.tend()
		}
	}
}

// Add implements [actors.Reports].
func (k *Keeper) Add(id string, at time.Time, host string, r record.CrashReport) error {
	s := k.scrubber(host)
	e := Evidence{Version: version.Version(), Window: Window.Seconds(), Timeline: []Moment{}}
	k.mu.Lock()
	rec := k.hosts[host]
	k.mu.Unlock()
	if rec != nil {
		e.add(rec, &r, s)
	}
	k.addEvents(&e, &r)
	if k.opt.Samples != nil {
		for _, x := range k.opt.Samples(host, r.Life, at.Add(-Window)) {
			e.Timeline = append(e.Timeline, Moment{Time: x.Time, Kind: KindSample, Memory: x.Memory, CPU: x.CPU, Pending: x.Pending})
		}
	}
	slices.SortStableFunc(e.Timeline, func(a, b Moment) int { return a.Time.Compare(b.Time) })
	s.report(&r)
	e.Likeness = Compare(&r)
	raw, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("evidence of crash %s: %w", id, err)
	}
	r.Evidence = raw
	k.mu.Lock()
	if k.index != nil {
		k.fresh[id] = summarize(&r)
	}
	k.mu.Unlock()
	if err := k.store.Add(id, at, host, r); err != nil {
		k.stored(id)
		return err
	}
	return nil
}

// stored is told that the index has a report, or that it is gone.
func (k *Keeper) stored(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.fresh, id)
}

// add adds the messages of a life.
func (e *Evidence) add(rec *recorder, r *record.CrashReport, s *scrubber) {
	program, opening, window, lost := rec.snapshot(r.Life, r.Time)
	e.Program, e.LeftOut = s.text(program), lost
	enc, env := rec.host.Encoding(), rec.host.Env()
	for i, m := range slices.Concat(opening, window) {
		x := Moment{
			Time: env.Time(m.at), Kind: KindReceived, Type: m.kind.String(), ID: m.id, Method: s.text(m.method), Size: m.size,
			Opening: i < len(opening), Cut: m.size > 0 && m.params == nil,
		}
		if m.sent {
			x.Kind = KindSent
		}
		if m.params != nil {
			text := []byte(m.params)
			var err error
			if !m.clean {
				text, err = enc.ToJSON(m.params)
			}
			if text = s.json(text); err == nil && json.Valid(text) {
				x.Params = text
			} else {
				x.Cut = true
			}
		}
		e.Timeline = append(e.Timeline, x)
	}
}

// addEvents adds the events of the host in the window.
func (k *Keeper) addEvents(e *Evidence, r *record.CrashReport) {
	const looked = 1000 // events before the last one
	last := k.world.Journal.Last()
	since := uint64(0)
	if last > looked {
		since = last - looked
	}
	for ev := range k.world.Journal.Events(context.Background(), since, false) {
		if ev.Host == nil || *ev.Host != r.Host || ev.Time.Before(r.Time.Add(-Window)) || ev.Time.After(r.Time.Add(time.Second)) {
			continue
		}
		m := Moment{Time: ev.Time, Kind: KindEvent, Event: ev.Kind, Reason: Scrub(ev.Reason)}
		if from, to, ok := ev.Transition(); ok {
			m.From, m.To = string(from), string(to)
		}
		e.Timeline = append(e.Timeline, m)
	}
}

// programOf returns name and version of a program in the result of a handshake in JSON.
func programOf(result codec.Raw) string {
	var told struct {
		ServerInfo struct{ Name, Version string }
	}
	if json.Unmarshal(result, &told) != nil {
		return ""
	}
	text := strings.TrimSpace(told.ServerInfo.Name + " " + told.ServerInfo.Version)
	return text[:min(len(text), 200)]
}

// telling matches the methods whose parameters may be a secret.
var telling = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)secret|password|credential|\btoken`) })

// tells reports whether telling matches a method, in a small part of its time: every message is
// asked about.
func tells(method string) bool {
	begins := true // a word
	for i := range len(method) {
		c := method[i]
		if c >= utf8.RuneSelf { // which may be the same as a letter of ASCII in the other case
			return telling().MatchString(method)
		}
		rest, found := method[i:], false
		switch c | 0x20 {
		case 's':
			found = hasPrefixFold(rest, "secret")
		case 'p':
			found = hasPrefixFold(rest, "password")
		case 'c':
			found = hasPrefixFold(rest, "credential")
		case 't':
			found = begins && hasPrefixFold(rest, "token")
		}
		if found {
			return true
		}
		begins = c != '_' && (c < '0' || '9' < c) && (c|0x20 < 'a' || 'z' < c|0x20)
	}
	return false
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// List implements [actors.Reports].
func (k *Keeper) List(host string) ([]record.CrashReport, error) { return k.store.List(host) }

// Get implements [actors.Reports].
func (k *Keeper) Get(id string) (record.CrashReport, error) { return k.store.Get(id) }

// Close implements [actors.Reports].
func (k *Keeper) Close() error {
	err := k.store.Close()
	if k.index != nil {
		err = errors.Join(err, k.index.close())
	}
	return err
}

// Summaries returns what the index says of the reports of a host, "" for all hosts, oldest first.
// The error is one of the disk.
func (k *Keeper) Summaries(host string) ([]Summary, error) {
	all, err := k.indexed()
	if err != nil { // the files say the same, only slower
		kept, err := k.store.List(host)
		return Summarize(kept), err
	}
	oldest := time.Time{}
	if k.opt.MaxAge > 0 {
		oldest = time.Now().Add(-k.opt.MaxAge)
	}
	all = slices.DeleteFunc(all, func(s Summary) bool { return host != "" && s.Host != host || s.Time.Before(oldest) })
	slices.SortFunc(all, func(a, b Summary) int { return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.ID, b.ID)) })
	return slices.CompactFunc(all, func(a, b Summary) bool { return a.ID == b.ID }), nil
}

// indexed returns what the index has, and the reports that are not in it yet.
func (k *Keeper) indexed() ([]Summary, error) {
	if k.index == nil {
		return nil, errUnusable
	}
	k.mu.Lock()
	fresh := slices.Collect(maps.Values(k.fresh))
	k.mu.Unlock()
	all, err := k.index.summaries()
	for _, s := range fresh {
		if _, gone := k.store.Get(s.ID); errors.Is(gone, reports.ErrNotFound) {
			k.stored(s.ID) // it was removed before it was written
			continue
		}
		all = append(all, s)
	}
	return all, err
}

// scrubber takes out of a report what must not be stored.
type scrubber struct {
	known  record.Redactor
	values *strings.Replacer
}

// scrubber returns what takes out the secrets of a host.
func (k *Keeper) scrubber(host string) *scrubber {
	s := &scrubber{known: k.world.Redactor}
	ref := k.world.Ref(host)
	if ref == nil {
		return s
	}
	spec, env := ref.Spec(), map[string]string{}
	for _, name := range spec.InheritEnv {
		env[name] = os.Getenv(name)
	}
	for name, v := range spec.Env {
		env[name] = v
	}
	var pairs []string
	for _, v := range secretValues(env) {
		pairs = append(pairs, v, label)
		if quoted, err := json.Marshal(v); err == nil && string(quoted[1:len(quoted)-1]) != v {
			pairs = append(pairs, string(quoted[1:len(quoted)-1]), label)
		}
	}
	if len(pairs) > 0 {
		s.values = strings.NewReplacer(pairs...)
	}
	return s
}

func (s *scrubber) text(text string) string {
	if s.known != nil {
		text = s.known.String(text)
	}
	if s.values != nil {
		text = s.values.Replace(text)
	}
	return Scrub(text)
}

// json is text for a document.
func (s *scrubber) json(doc []byte) []byte {
	if s.known != nil && s.known.Active() {
		doc = withoutSecrets(s.known, doc)
	}
	text := string(doc)
	if s.values != nil {
		text = s.values.Replace(text)
	}
	return []byte(Scrub(text))
}

// withoutSecrets takes the values of secrets out of a document.
func withoutSecrets(r record.Redactor, doc []byte) []byte {
	if r, ok := r.(interface{ JSON([]byte) []byte }); ok {
		return r.JSON(doc)
	}
	return r.Bytes(doc)
}

// report takes out of a report what must not be stored.
func (s *scrubber) report(r *record.CrashReport) {
	r.Reason, r.Next = s.text(r.Reason), s.text(r.Next)
	if r.Exit != nil {
		exit := *r.Exit
		exit.Reason = s.text(exit.Reason)
		r.Exit = &exit
	}
	r.Command = slices.Clone(r.Command)
	for i, c := range r.Command {
		r.Command[i] = s.text(c)
	}
	s.lines(r)
	r.Messages = slices.Clone(r.Messages)
	for i := range r.Messages {
		r.Messages[i].Method = s.text(r.Messages[i].Method)
	}
	if len(r.Noise) > 0 {
		r.Noise = []byte(s.text(string(r.Noise)))
	}
	if len(r.Extensions) > 0 {
		if doc := s.json(r.Extensions); json.Valid(doc) {
			r.Extensions = doc
		} else {
			r.Extensions = nil
		}
	}
}

// lines takes secrets out of the output. A private key is spread over lines, so that they are
// looked at together.
func (s *scrubber) lines(r *record.CrashReport) {
	r.Lines = slices.Clone(r.Lines)
	inKey := false
	for i, l := range r.Lines {
		begins, ends := strings.Contains(l.Text, "PRIVATE KEY-----") && strings.Contains(l.Text, "BEGIN "), strings.Contains(l.Text, "-----END ")
		switch {
		case inKey, begins && !ends:
			r.Lines[i].Text = label
		default:
			r.Lines[i].Text = s.text(l.Text)
		}
		inKey = (inKey || begins) && !ends
	}
}
