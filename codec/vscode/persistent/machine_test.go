package persistent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

var zero = time.Unix(1_000_000, 0)

func at(d time.Duration) time.Time { return zero.Add(d) }

// frames shows what was written: "regular 1/0 hello".
func frames(b []byte) (out []string) {
	for len(b) > 0 {
		h := ParseHeader(b)
		text := fmt.Sprintf("%s %d/%d", h.Type, h.ID, h.Ack)
		if h.Length > 0 {
			text += " " + string(b[HeaderSize:HeaderSize+h.Length])
		}
		out = append(out, text)
		b = b[HeaderSize+h.Length:]
	}
	return out
}

func pulls(t *testing.T, m *Machine, d time.Duration, want ...string) {
	t.Helper()
	if got := frames(m.Pull(at(d), nil, math.MaxInt)); !slices.Equal(got, want) {
		t.Fatalf("at %s: %q, want %q", d, got, want)
	}
}

func hears(t *testing.T, m *Machine, d time.Duration, h Header, want Effect) {
	t.Helper()
	if got, err := m.Receive(at(d), h); err != nil || got != want {
		t.Fatalf("at %s: %v: effect %d, %v; want %d", d, h, got, err, want)
	}
	if want == Deliver {
		m.Done(at(d))
	}
}

func ticks(t *testing.T, m *Machine, d time.Duration, want Effect) {
	t.Helper()
	if got := m.Tick(at(d)); got != want {
		t.Fatalf("at %s: effect %d, want %d", d, got, want)
	}
}

func says(t *testing.T, m *Machine, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if err := m.Send([]byte(s)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHeader(t *testing.T) {
	h := Header{Regular, 0x01020304, 0x05060708, 0x090a0b0c}
	b := h.Append([]byte("x"))
	if string(b) != "x\x01\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c" || ParseHeader(b[1:]) != h {
		t.Errorf("%q, %+v", b, ParseHeader(b[1:]))
	}
}

func TestAcks(t *testing.T) {
	m := New(zero)
	says(t, m, "a", "b")
	if m.Kept() != 2*HeaderSize+2 || m.Unsent() != m.Kept() || m.Unacked() != 2 {
		t.Error(m.Kept(), m.Unsent(), m.Unacked())
	}
	pulls(t, m, 0, "regular 1/0 a", "regular 2/0 b")
	hears(t, m, 0, Header{Regular, 1, 1, 5}, Deliver)
	if m.Unacked() != 1 || m.Received() != 1 || m.Unsent() != 0 || m.Sent() != 2 || m.Acked() != 1 {
		t.Error(m.Unacked(), m.Received(), m.Unsent(), m.Sent(), m.Acked())
	}
	// What is sent carries the ack.
	says(t, m, "c")
	pulls(t, m, time.Second, "regular 3/1 c")
	ticks(t, m, 2*time.Second, None)
	pulls(t, m, 2*time.Second)
	// Two seconds after the first that nothing was sent behind.
	hears(t, m, 2*time.Second, Header{Regular, 2, 0, 0}, Deliver)
	hears(t, m, 3*time.Second, Header{Regular, 3, 0, 0}, Deliver)
	if due := m.Due(); due.After(at(4 * time.Second)) {
		t.Error(due.Sub(zero))
	}
	ticks(t, m, 3999*time.Millisecond, None)
	pulls(t, m, 3999*time.Millisecond)
	ticks(t, m, 4*time.Second, None)
	pulls(t, m, 4*time.Second, "ack 0/3")
	// An ack that is older than another says nothing.
	hears(t, m, 4*time.Second, Header{Ack, 0, 3, 0}, None)
	hears(t, m, 4*time.Second, Header{Ack, 0, 1, 0}, None)
	if m.Unacked() != 0 || m.Kept() != 0 {
		t.Error(m.Unacked(), m.Kept())
	}
}

func TestKeepAlive(t *testing.T) {
	m := New(zero)
	ticks(t, m, 4999*time.Millisecond, None)
	pulls(t, m, 4999*time.Millisecond)
	hears(t, m, 4999*time.Millisecond, Header{Regular, 1, 0, 0}, Deliver)
	ticks(t, m, 5*time.Second, None)
	pulls(t, m, 5*time.Second, "keep-alive 0/1")
	ticks(t, m, 9*time.Second, None)
	pulls(t, m, 9*time.Second)
	hears(t, m, 9*time.Second, Header{KeepAlive, 0, 0, 0}, None)
}

func TestReplay(t *testing.T) {
	m := New(zero)
	says(t, m, "a", "b", "c")
	pulls(t, m, 0, "regular 1/0 a", "regular 2/0 b", "regular 3/0 c")
	hears(t, m, 0, Header{ReplayRequest, 0, 1, 0}, None)
	pulls(t, m, 0, "regular 2/0 b", "regular 3/0 c")
	// A gap asks, at most once in ten seconds; what comes twice is dropped.
	hears(t, m, time.Second, Header{Regular, 2, 0, 0}, None)
	pulls(t, m, time.Second, "replay request 0/0")
	hears(t, m, 11*time.Second, Header{Regular, 3, 0, 0}, None)
	pulls(t, m, 11*time.Second)
	hears(t, m, 11*time.Second+1, Header{Regular, 4, 0, 0}, None)
	pulls(t, m, 11*time.Second+1, "replay request 0/0")
	hears(t, m, 12*time.Second, Header{Regular, 1, 0, 0}, Deliver)
	hears(t, m, 12*time.Second, Header{Regular, 1, 0, 0}, None)
	hears(t, m, 12*time.Second, Header{Regular, 2, 0, 0}, Deliver)
}

func TestPause(t *testing.T) {
	m := New(zero)
	hears(t, m, 0, Header{Type: Pause}, None)
	says(t, m, "a")
	hears(t, m, 0, Header{Regular, 1, 0, 0}, Deliver)
	ticks(t, m, 6*time.Second, None)
	pulls(t, m, 6*time.Second)
	hears(t, m, 6*time.Second, Header{Type: Resume}, None)
	pulls(t, m, 6*time.Second, "regular 1/1 a", "keep-alive 0/1")
}

func TestSocketChange(t *testing.T) {
	m := New(zero)
	says(t, m, "a", "b", "c")
	pulls(t, m, 0, "regular 1/0 a", "regular 2/0 b", "regular 3/0 c")
	hears(t, m, 0, Header{Regular, 1, 1, 0}, Deliver)
	hears(t, m, 0, Header{Type: Pause}, None)
	m.Detach()
	says(t, m, "d")
	ticks(t, m, time.Hour, None)
	pulls(t, m, time.Hour)
	m.Attach(at(time.Hour))
	pulls(t, m, time.Hour, "ack 0/1", "regular 2/1 b", "regular 3/1 c", "regular 4/1 d")
	// The ack of what was written to the socket before.
	m.Attach(at(time.Hour))
	hears(t, m, time.Hour, Header{Ack, 0, 3, 0}, None)
	if m.Unsent() != HeaderSize+1 || m.Kept() != HeaderSize+1 {
		t.Error(m.Unsent(), m.Kept())
	}
	pulls(t, m, time.Hour, "ack 0/1", "regular 4/1 d")
	ticks(t, m, time.Hour+4*time.Second, None)
	pulls(t, m, time.Hour+4*time.Second)
}

func TestPullInPieces(t *testing.T) {
	m := New(zero)
	says(t, m, "a", "b", "c")
	m.Disconnect()
	if got := frames(m.Pull(zero, nil, 1)); !slices.Equal(got, []string{"regular 1/0 a"}) {
		t.Error(got)
	}
	pulls(t, m, 0, "regular 2/0 b", "regular 3/0 c", "disconnect 0/0")
	pulls(t, m, 0)
	hears(t, m, 0, Header{Type: Disconnect}, Disconnected)
}

// run ticks a machine whenever it is due, until it times out or the time is up.
func run(m *Machine, from, to time.Duration, slow time.Duration) (time.Duration, bool) {
	now := at(from)
	for !now.After(at(to)) {
		if m.Tick(now) == TimedOut {
			return now.Sub(zero), true
		}
		m.Pull(now, nil, math.MaxInt)
		now = m.Due().Add(slow)
	}
	return to, false
}

func TestTimeout(t *testing.T) {
	const long = 5 * time.Minute
	for name, tc := range map[string]struct {
		do    func(m *Machine)
		slow  time.Duration
		after time.Duration // 0: never
	}{
		"silence":           {func(m *Machine) {}, 0, 20 * time.Second},
		"nothing to ack":    {func(m *Machine) { _, _ = m.Receive(zero, Header{Ack, 0, 1, 0}) }, 0, 0},
		"nobody listens":    {func(m *Machine) { m.Heard() }, 0, 0},
		"listens later":     {func(m *Machine) { m.Wait(at(10 * time.Second)) }, 0, 30 * time.Second},
		"an ack of nothing": {func(m *Machine) { _, _ = m.Receive(zero, Header{Ack, 0, 0, 0}) }, 0, 20 * time.Second},
		"a slow machine":    {func(m *Machine) {}, 3 * time.Second, 0},
		"a late machine":    {func(m *Machine) {}, 200 * time.Millisecond, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			m := New(zero)
			m.Wait(zero)
			says(t, m, "a")
			m.Pull(zero, nil, math.MaxInt)
			tc.do(m)
			when, did := run(m, 0, long, tc.slow)
			if did != (tc.after > 0) || did && (when < tc.after || when > tc.after+5*time.Second) {
				t.Errorf("%v after %s, want %s", did, when, tc.after)
			}
			if !did {
				return
			}
			// Not twice within the time, and not before the next socket was tried.
			m.Detach()
			if _, did := run(m, when, when+long, 0); did {
				t.Error("without a socket")
			}
			m.Attach(at(when + long))
			m.Wait(at(when + long))
			m.Pull(at(when+long), nil, math.MaxInt)
			again, did := run(m, when+long, when+2*long, 0)
			if !did || again < when+long+20*time.Second {
				t.Errorf("%v, %s after the next socket", did, again-when-long)
			}
		})
	}
}

// A side that was stopped for a while has not listened.
func TestTimeoutAfterAStop(t *testing.T) {
	m := New(zero)
	m.Wait(zero)
	says(t, m, "a")
	m.Pull(zero, nil, math.MaxInt)
	run(m, 0, 5*time.Second, 0)
	ticks(t, m, time.Hour, None)
	when, did := run(m, time.Hour+time.Second, 2*time.Hour, 0)
	if !did || when < time.Hour+4*time.Second {
		t.Errorf("%v, %s", did, when)
	}
}

func TestBadHeaders(t *testing.T) {
	for name, tc := range map[string]struct {
		h    Header
		want error
		text string
	}{
		"none":              {Header{}, ErrType, "unknown type of frame: 0"},
		"four":              {Header{Type: 4}, ErrType, "unknown type of frame: 4"},
		"text":              {ParseHeader([]byte("Traceback (most")), ErrType, "unknown type of frame: 84"},
		"regular without":   {Header{Type: Regular, Length: 3}, ErrID, "without one"},
		"ack of nothing":    {Header{Regular, 1, 2, 0}, ErrID, "ack of frame 2, the last that was sent is 1"},
		"ack with data":     {Header{Ack, 0, 0, 1}, ErrShape, "ack, 1 bytes"},
		"pause with data":   {Header{Pause, 0, 0, 1}, ErrShape, "pause, 1 bytes"},
		"resume with data":  {Header{Resume, 0, 0, math.MaxUint32}, ErrShape, "resume, 4294967295 bytes"},
		"replay with data":  {Header{ReplayRequest, 0, 0, 1}, ErrShape, "replay request, 1 bytes"},
		"goodbye with data": {Header{Disconnect, 0, 0, 1}, ErrShape, "disconnect, 1 bytes"},
		"alive with data":   {Header{KeepAlive, 0, 0, 1}, ErrShape, "keep-alive, 1 bytes"},
	} {
		m := New(zero)
		says(t, m, "a")
		if e, err := m.Receive(zero, tc.h); e != None || !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %d, %v", name, e, err)
		}
	}
	m := New(zero)
	hears(t, m, 0, Header{Control, 0, 0, 100}, None)
	m.lastOut = math.MaxUint32
	if err := m.Send(nil); !errors.Is(err, ErrIDs) {
		t.Error(err)
	}
}

// link is a network between two machines, with sockets that lose what is on its
// way when they are cut.
type link struct {
	t     *testing.T
	rng   *rand.Rand
	now   time.Time
	side  [2]*Machine
	wire  [2][]byte // towards side i
	got   [2][]uint32
	sent  [2]uint32
	loses bool // also frames, now and then, without being cut
}

func (l *link) step() {
	l.now = l.now.Add(time.Duration(l.rng.Int64N(int64(700 * time.Millisecond))))
	i := l.rng.IntN(2)
	switch l.rng.IntN(6) {
	case 0, 1:
		l.sent[i]++
		says(l.t, l.side[i], string(binary.BigEndian.AppendUint32(nil, l.sent[i])))
	case 2:
		l.pull(i)
	case 3:
		l.carry(i, 1+l.rng.IntN(4))
	case 4:
		l.side[i].Tick(l.now)
	case 5:
		if l.rng.IntN(8) == 0 {
			l.cut()
		}
	}
}

func (l *link) pull(i int) {
	b := l.side[i].Pull(l.now, nil, 1+l.rng.IntN(200))
	for len(b) > 0 {
		n := HeaderSize + int(ParseHeader(b).Length)
		if !l.loses || l.rng.IntN(10) > 0 {
			l.wire[1-i] = append(l.wire[1-i], b[:n]...)
		}
		b = b[n:]
	}
}

func (l *link) carry(i, n int) {
	for ; n > 0 && len(l.wire[i]) > 0; n-- {
		h := ParseHeader(l.wire[i])
		data := l.wire[i][HeaderSize : HeaderSize+h.Length]
		e, err := l.side[i].Receive(l.now, h)
		if err != nil {
			l.t.Fatal(err)
		}
		if e == Deliver {
			if l.rng.IntN(20) == 0 {
				return // its end has not come yet
			}
			l.side[i].Done(l.now)
			l.got[i] = append(l.got[i], binary.BigEndian.Uint32(data))
		}
		l.wire[i] = l.wire[i][HeaderSize+h.Length:]
	}
}

func (l *link) cut() {
	for i, m := range l.side {
		l.wire[i] = nil
		m.Detach()
		m.Attach(l.now)
	}
}

// Nothing is lost, nothing comes twice, and all of it in order.
func TestNothingIsLost(t *testing.T) {
	for seed := range uint64(300) {
		l := &link{t: t, rng: rand.New(rand.NewPCG(seed, 1)), now: zero, loses: seed%2 == 1}
		l.side = [2]*Machine{New(zero), New(zero)}
		for range 400 {
			l.step()
		}
		l.loses = false
		l.cut()
		for range 100 {
			l.now = l.now.Add(time.Second)
			for i := range 2 {
				l.side[i].Tick(l.now)
				l.pull(i)
				l.carry(i, math.MaxInt)
			}
		}
		for i := range 2 {
			if uint32(len(l.got[i])) != l.sent[1-i] || l.side[1-i].Unacked() != 0 || l.side[1-i].Kept() != 0 || l.side[1-i].Unsent() != 0 {
				t.Fatalf("seed %d: %d of %d, %d unacknowledged, %d and %d bytes kept", seed, len(l.got[i]), l.sent[1-i],
					l.side[1-i].Unacked(), l.side[1-i].Kept(), l.side[1-i].Unsent())
			}
			for k, n := range l.got[i] {
				if n != uint32(k)+1 {
					t.Fatalf("seed %d: message %d in place %d", seed, n, k+1)
				}
			}
		}
	}
}

// Whatever a peer writes, a machine says what is wrong with it or takes it, and
// what it keeps for itself stays in order.
// A host may ask for everything again and again; that costs what was written since.
func TestReplayOfWhatWasNotWritten(t *testing.T) {
	now := time.Unix(0, 0)
	m := New(now)
	const frames = 1 << 20
	for range frames {
		if err := m.Send([]byte{1}); err != nil {
			t.Fatal(err)
		}
	}
	for range 1 << 20 {
		if _, err := m.Receive(now, Header{Type: ReplayRequest}); err != nil {
			t.Fatal(err)
		}
	}
	if out := m.Pull(now, nil, 1); len(out) != HeaderSize+1 || ParseHeader(out).ID != 1 || m.Unsent() != (frames-1)*(HeaderSize+1) {
		t.Errorf("%x, %d bytes unsent", out, m.Unsent())
	}
}

func FuzzReceive(f *testing.F) {
	f.Add(Header{Regular, 1, 1, 0}.Append(nil), uint8(2))
	f.Add(append(Header{ReplayRequest, 0, 1, 0}.Append(nil), Header{Type: Pause}.Append(nil)...), uint8(3))
	f.Add(append(Header{Regular, 2, 0, 0}.Append(nil), Header{Ack, 0, 1, 0}.Append(nil)...), uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, sends uint8) {
		m := New(zero)
		now := zero
		var last uint32
		for ; len(b) >= HeaderSize; b = b[HeaderSize:] {
			now = now.Add(time.Duration(b[0]) * 100 * time.Millisecond)
			if sends > 0 {
				sends--
				says(t, m, "x")
			}
			h := ParseHeader(b)
			e, err := m.Receive(now, h)
			if err != nil {
				return
			}
			if e == Deliver {
				m.Done(now)
				if last++; h.ID != last {
					t.Fatalf("%d is delivered after %d", h.ID, last-1)
				}
			}
			if b[1]%3 == 0 {
				m.Detach()
				m.Attach(now)
			}
			m.Tick(now)
			out := m.Pull(now, nil, int(b[2]))
			for len(out) > 0 {
				h := ParseHeader(out)
				if h.Ack > last || h.Type == Regular && (h.ID == 0 || h.ID > m.lastOut) {
					t.Fatalf("%+v", h)
				}
				out = out[HeaderSize+h.Length:]
			}
			if m.Kept() != m.Unacked()*(HeaderSize+1) || m.Unsent() < 0 || m.Unsent() > m.Kept() || m.Due().Before(now.Add(-time.Minute)) {
				t.Fatalf("%d kept, %d unsent, %d unacknowledged, due %s", m.Kept(), m.Unsent(), m.Unacked(), m.Due().Sub(now))
			}
		}
	})
}
