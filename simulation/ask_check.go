package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// What is promised about the requests that hosts make, and about notifications.

// openAsks is how many requests of one process may be open.
const openAsks = 256

// release is the end of the context of a handler that nothing has taken back.
type release struct {
	host string
	life int
	at   time.Time
}

// isQuiet reports whether a life has done what it was asked to since a time, and nothing has
// disturbed it, so that all promises of answers hold. c.mu is held.
func (c *checker) isQuiet(host string, life int, since time.Time) bool {
	s := c.latest[host]
	return s != nil && s.life == life && !s.over && !s.frozen && !s.thawed.After(since) && !s.disturbed && !s.broke && c.stopAt.IsZero()
}

// disturbed: a process breaks the protocol, or is about to end.
func (c *checker) disturbed(host string, life int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.latest[host]; s != nil && s.life == life {
		s.disturbed = true
	}
}

// later has f look at what a life owes at the end of d, unless something disturbs the life until
// then. f is called with c.mu held.
func (c *checker) later(host string, life int, d time.Duration, f func()) {
	began := time.Now()
	c.after(d+c.slack, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.isQuiet(host, life, began) {
			f()
		}
	})
}

// owes: a process has made a request, which the supervisor has to acknowledge and answer.
func (c *checker) owes(a *ask) {
	c.later(a.by, a.life, 0, func() {
		if !a.acked && !a.answered {
			c.fail("call %d, %s by %s, is not acknowledged", a.id, a.method, a.by)
		}
	})
	within := time.Duration(0)
	switch {
	case a.method == hereHang:
		return
	case a.method == hereItems && a.chunk > 0:
		within = time.Duration(1+a.n/a.chunk) * c.slack
	case strings.HasPrefix(a.method, "to-"):
		within = c.hosts[a.host].Requests.Timeout
	}
	c.answeredIn(a, within)
}

func (c *checker) answeredIn(a *ask, within time.Duration) {
	c.later(a.by, a.life, within, func() {
		if !a.answered {
			c.fail("call %d, %s by %s, has no answer after %s", a.id, a.method, a.by, time.Since(a.began))
		}
	})
}

// takesBack: a process cancels a request, which is to be answered soon.
func (c *checker) takesBack(a *ask) {
	c.mu.Lock()
	a.tookBack = true
	c.note("%s: life %d cancels call %d", a.by, a.life, a.id)
	c.mu.Unlock()
	c.answeredIn(a, 0)
}

// handling: a handler begins. It returns what it is about, or nil.
func (c *checker) handling(in *actors.Incoming) *call {
	var id int
	err := in.Decode(&id)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note("%s: the handler of %s %d begins", in.Host, in.Method, id)
	if err != nil || id < 1 || id > len(c.calls) {
		c.fail("%s: life %d asks %s % x, which was not asked: %v", in.Host, in.Life, in.Method, in.Params, err)
		return nil
	}
	a := c.calls[id-1]
	if a.by != in.Host || a.life != int(in.Life) || a.method != in.Method {
		c.fail("life %d of %s asks %s %d, which is %s of life %d of %s", in.Life, in.Host, in.Method, id, a.method, a.life, a.by)
	}
	if c.heardOf[id]++; c.heardOf[id] > 1 {
		c.fail("call %d of %s is handled for the %d. time", id, a.by, c.heardOf[id])
	}
	s := c.latest[a.by]
	if s.life == a.life {
		if s.handlers++; s.handlers > openAsks {
			c.fail("%s: %d handlers at the same time", a.by, s.handlers)
		}
	}
	return a
}

// handled: a handler has returned.
func (c *checker) handled(a *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.latest[a.by]; s.life == a.life {
		s.handlers--
	}
}

// released: the context of a handler has ended.
func (c *checker) released(a *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !a.tookBack {
		c.note("call %d: the context of its handler has ended", a.id)
		c.releases = append(c.releases, release{a.by, a.life, time.Now()})
	}
}

// askAcked: a process has read an acknowledgement.
func (c *checker) askAcked(a *ask) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.acked {
		c.fail("call %d of %s is acknowledged twice", a.id, a.by)
	}
	a.acked = true
}

// askItem: a process has read an item. It reports whether more are to be allowed.
func (c *checker) askItem(a *ask, m *codec.Message) (more bool) {
	var v int
	err := msgpack.Unmarshal(m.Result, &v)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case a.credit == 0:
		c.fail("call %d of %s: item %d, without credit", a.id, a.by, v)
	case err != nil || v != a.taken || int(m.Seq) != a.taken || a.method != hereItems:
		c.fail("call %d, %s of %s: item %d is %d, %v; expected %d", a.id, a.method, a.by, m.Seq, v, err, a.taken)
	}
	a.taken++
	a.credit--
	return a.credit == 0
}

// allows: a process gives credit again.
func (c *checker) allows(a *ask) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.credit += a.chunk
}

// askAnswered: a process has read an answer.
func (c *checker) askAnswered(a *ask, m *codec.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var got any
	switch {
	case m.Err != nil:
		got = cmp.Or(m.Err.Name, "an error without a name")
	case len(m.Result) > 0:
		if err := msgpack.Unmarshal(m.Result, &got); err != nil {
			got = err.Error()
		}
	}
	took := time.Since(a.began)
	c.note("%s: life %d has the answer to %s %d after %s: %v", a.by, a.life, a.method, a.id, took, got)
	bad := func(expected string) {
		c.fail("call %d, %s by %s, is answered %v after %s: expected %s", a.id, a.method, a.by, got, took, expected)
	}
	if a.answered {
		bad("no second answer")
	}
	a.answered, a.endedAt = true, time.Now()
	quiet := c.isQuiet(a.by, a.life, time.Time{})
	switch {
	case m.Err == nil:
		if text := fmt.Sprint(got); text != a.want(text) {
			bad(a.want(text))
		}
	case m.Err.Name == codec.NameCancelled && (a.tookBack || !quiet):
	case m.Err.Name == actors.NameOverloaded && c.open(a.by, a.life) >= openAsks:
	case !strings.HasPrefix(a.method, "to-"):
		want := map[string]string{hereFail: "Refused", herePanic: codec.NamePanic, nothing: codec.NameMethodNotFound}[a.method]
		if m.Err.Name != want || a.method == hereFail && m.Err.Message != strconv.Itoa(a.id) {
			bad(cmp.Or(want, "no error"))
		}
	case a.refused && m.Err.Name == actors.NameError && m.Err.Message == errRefused.Error():
	case m.Err.Name == actors.NameHostDown:
	case m.Err.Name == actors.NameOverloaded:
		c.overloaded(a.host, a.began, func(open int) { bad(fmt.Sprintf("no overload while %d are open", open)) })
	case m.Err.Name == actors.NameTimeout:
		if timeout := c.hosts[a.host].Requests.Timeout; took < timeout {
			bad("no time-out before " + timeout.String())
		}
	case m.Err.Name == codec.NameMethodNotFound && strings.HasSuffix(a.method, ".unknown"):
	default:
		bad("another error")
	}
}

// want returns the result of a request, as text. Items whose credit comes late may be a list.
func (a *ask) want(got string) string {
	switch {
	case a.method == fixed:
		return "42"
	case a.method == hereEcho, strings.HasPrefix(a.method, "to-"):
		return strconv.Itoa(a.id)
	case a.method == hereItems && a.chunk > 0 && a.taken == a.n && (a.n > 0 || got != "[]"):
		return "<nil>"
	case a.method == hereItems && a.taken == 0:
		list := make([]int, a.n)
		for i := range list {
			list[i] = i
		}
		return fmt.Sprint(list)
	}
	return "an error"
}

// open returns how many requests of a life have no answer. c.mu is held.
func (c *checker) open(by string, life int) (n int) {
	for _, o := range c.calls {
		if o.by == by && o.life == life && !o.answered {
			n++
		}
	}
	return n + 1 // the one that is looked at
}

// overloaded calls bad if a host that had too many calls since a time had fewer than it may. What has
// ended at that time counts: in which order the callers of one moment go on is no order of theirs. c.mu
// is held.
func (c *checker) overloaded(host string, since time.Time, bad func(open int)) {
	open := 0
	for _, o := range c.calls {
		if o.host == host && (!o.answered || !o.endedAt.Before(since)) && (o.by == "" || o.life == c.lives[o.by]) {
			open++
		}
	}
	if open < c.hosts[host].Requests.MaxPending {
		bad(open)
	}
}

// told: a notification is handed to a host; ok tells that it was taken.
func (c *checker) told(host string, sender, n int, ok bool, life int) {
	c.mu.Lock()
	quiet := ok && life > 0 && c.isQuiet(host, life, time.Now())
	c.mu.Unlock()
	if quiet {
		c.later(host, life, 0, func() {
			if last := c.notes[sender]; last.life != life || last.n < n {
				c.fail("%s: life %d has not read notification %d of sender %d", host, life, n, sender)
			}
		})
	}
}

// greetedLife returns the life of a host that has shaken hands; 0 without one.
func (c *checker) greetedLife(host string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.latest[host]; s != nil && !s.over && !s.greeted.IsZero() {
		return s.life
	}
	return 0
}

// sender returns a number for a row of notifications.
func (c *checker) sender() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.senders++
	return c.senders
}

// place is the last of a row of notifications, and the life that it was about.
type place struct{ life, n int }

// noted: a process has read a notification.
func (c *checker) noted(host string, life int, m *codec.Message) {
	var of [2]int
	err := msgpack.Unmarshal(m.Params, &of)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said(host, life, "a notification")
	last := c.notes[of[0]]
	if err != nil || of[1] <= last.n || last.life == life && of[1] != last.n+1 {
		c.fail("%s: life %d reads notification %d of sender %d after %d: %v", host, life, of[1], of[0], last.n, err)
	}
	c.notes[of[0]] = place{life, of[1]}
}

// news: the tree hands on a notification of a process.
func (c *checker) news(n supervisor.Notification) {
	if h := c.hosts[n.Host]; !isShared(&h) { // others are for attached programs
		c.newsOf(n.Host, int(n.Life), n.Params)
	}
}

// newsOf: whoever is told of all notifications of a host is told of one.
func (c *checker) newsOf(who string, life int, params codec.Raw) {
	var at int
	err := msgpack.Unmarshal(params, &at)
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.heardNews[who]
	if c.mayRepeat(who, life, at, last) {
		last.n = at - 1
	}
	if life != last.life {
		last.n = 0
	}
	if err != nil || life < last.life || at != last.n+1 {
		c.fail("%s: notification %d of life %d after %d of life %d: %v", who, at, life, last.n, last.life, err)
	}
	c.heardNews[who] = place{life, at}
}

// released contexts are those of lives that end. c.mu is held.
func (c *checker) checkReleases(all []supervisor.Event) {
	for _, r := range c.releases {
		if !slices.ContainsFunc(all, func(e supervisor.Event) bool {
			from, to, ok := e.Transition()
			return ok && *e.Host == r.host && lives(from) && (!lives(to)) && to != lifecycle.Unresponsive && e.Time.Sub(r.at) < c.slack &&
				(e.Life == nil || int(*e.Life) >= r.life)
		}) {
			c.fail("%s: the context of a handler of life %d ended at %s, while the life went on", r.host, r.life, r.at.Sub(c.begin))
		}
	}
}
