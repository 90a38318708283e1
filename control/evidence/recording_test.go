package evidence

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/require"
)

// naive remembers a life without rings.
type naive struct {
	opening, window []message
	lost            int
}

func (l *naive) add(h header, params codec.Raw) {
	m := message{header: h}
	if len(params) > 0 && len(params) <= maxHeld {
		m.held, m.params = len(params), params
	}
	if h.sent && len(l.opening) < maxOpening {
		l.opening = append(l.opening, m)
	}
	l.window = append(l.window, m)
	held := 0
	for i := len(l.window) - 1; i >= 0; i-- {
		held += l.window[i].held
		old := h.at-l.window[i].at > int64(Window)
		if old || held > maxHeld || len(l.window)-i > maxMessages {
			for _, lost := range l.window[:i+1] {
				if h.at-lost.at <= int64(Window) {
					l.lost++
				}
			}
			l.window = l.window[i+1:]
			break
		}
	}
}

func same(a, b []message) error {
	if len(a) != len(b) {
		return fmt.Errorf("%d messages, expected %d", len(a), len(b))
	}
	for i := range a {
		if a[i].header != b[i].header || !bytes.Equal(a[i].params, b[i].params) || (a[i].params == nil) != (b[i].params == nil) {
			return fmt.Errorf("message %d of %d: %+v %.20q, expected %+v %.20q", i, len(a), a[i].header, a[i].params, b[i].header, b[i].params)
		}
	}
	return nil
}

// The rings of both directions remember what a list would, whatever the sizes and pauses.
func TestRecordingRemembersTheLastMessages(t *testing.T) {
	for seed := range uint64(require.Rounds(40, 10)) {
		r := rand.New(rand.NewPCG(seed, 1))
		all := new(atomic.Int64)
		l, want := &life{}, &naive{}
		l.sent.all, l.received.all = all, all
		at, largest, pause := int64(time.Hour), 1<<r.IntN(17), time.Duration(1)<<r.IntN(34)
		for n := range 3000 {
			at += 1 + r.Int64N(int64(pause))
			params := codec.Raw(nil)
			if r.IntN(4) > 0 {
				params = bytes.Repeat([]byte{byte(n), byte(n >> 8), byte(r.Int())}, r.IntN(largest)/3)
			}
			h := header{at: at, id: uint32(n), size: len(params), sent: r.IntN(2) == 0, method: fmt.Sprint("m", n%7)}
			if h.sent {
				l.sent.add(h, params)
			} else {
				l.received.add(h, params)
			}
			want.add(h, params)
			if n%500 != 499 {
				continue
			}
			opening, window, lost := l.snapshot(at)
			before := want.opening
			for len(before) > 0 && before[len(before)-1].id >= want.window[0].id {
				before = before[:len(before)-1]
			}
			if err := same(window, want.window); err != nil {
				t.Fatalf("seed %d, after %d: %v", seed, n, err)
			}
			if err := same(opening, before); err != nil {
				t.Fatalf("seed %d, after %d: the opening: %v", seed, n, err)
			}
			if pause < time.Millisecond && lost != want.lost { // else some are too long ago to be counted
				t.Fatalf("seed %d, after %d: %d lost, expected %d", seed, n, lost, want.lost)
			}
			if held := all.Load(); held > 2*maxHeld+maxOpening*maxParams || len(l.sent.headers) > maxMessages {
				t.Fatalf("seed %d: %d bytes for parameters, %d headers", seed, held, len(l.sent.headers))
			}
		}
		at += int64(2 * Window)
		l.sent.tend(at)
		l.received.tend(at)
		held := int64(0)
		for _, m := range l.sent.opening {
			held += int64(m.held)
		}
		if got := all.Load(); got != held {
			t.Fatalf("seed %d: an old window holds %d bytes besides the opening", seed, got-held)
		}
		l.sent.forget()
		l.received.forget()
		l.sent.add(header{at: at, size: 1}, codec.Raw("a"))
		if held := all.Load(); held != 0 {
			t.Fatalf("seed %d: %d bytes stay on the account", seed, held)
		}
	}
}

// Where all hosts together have all the memory they may have, a recording goes on with what it has.
func TestRecordingKeepsToTheMemoryOfAllHosts(t *testing.T) {
	all := new(atomic.Int64)
	l := &recording{all: all}
	l.add(header{at: 1, size: 400}, bytes.Repeat([]byte("a"), 400))
	others := maxAll - all.Load()
	all.Add(others)
	l.add(header{at: 2, size: 4000}, bytes.Repeat([]byte("b"), 4000))
	l.add(header{at: 3, size: 300}, bytes.Repeat([]byte("c"), 300))
	window := l.messages()
	if len(window) != 2 || window[0].params != nil || string(window[1].params) != string(bytes.Repeat([]byte("c"), 300)) {
		t.Errorf("%d messages: %+v", len(window), window)
	}
	if held := all.Load(); held > maxAll {
		t.Errorf("%d bytes, more than %d", held, maxAll)
	}
	l.forget()
	if held := all.Load(); held != others {
		t.Errorf("%d bytes are left, expected the %d of the others", held, others)
	}
}

// Parameters that become JSON without secrets may be larger than a life's share.
func TestRecordingRefusesParametersAboveTheShareOfALife(t *testing.T) {
	l := &recording{all: new(atomic.Int64)}
	l.add(header{at: 1, size: 3}, codec.Raw("abc"))
	l.add(header{at: 2, size: 9}, make(codec.Raw, maxHeld+1))
	if window := l.messages(); len(window) != 2 || string(window[0].params) != "abc" || window[1].params != nil {
		t.Errorf("%+v", window)
	}
}

// tells finds what the pattern finds.
func FuzzTells(f *testing.F) {
	for _, method := range []string{
		"", "secret", "getSecrets", "SECRET/get", "x_token", "xtoken", "x.Token", "$token", "0token", "token", "to", "pass", "setPassword", "credentialsOf",
		"\u017fecret", "pa\u017f\u017fword", "to\u212aen", "\u00e9token", "workspace/symbol", "secre", "\xff secret",
	} {
		f.Add(method)
	}
	f.Fuzz(func(t *testing.T, method string) {
		if got, want := tells(method), telling().MatchString(method); got != want {
			t.Errorf("tells(%q) = %v, the pattern says %v", method, got, want)
		}
	})
}
