package execserver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hostsup/hostsup/execserver/wire"
)

// A backlog gives back what was put into it, in order, over memory and the file,
// and around the end of the file.
func TestBacklog(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	b := backlog{limit: 1 << 20}
	rnd := rand.New(rand.NewPCG(1, 2))
	var want []Event
	refused := 0
	for seq := uint64(1); seq < 3000; seq++ {
		e := Event{Kind: Output, Seq: seq, Stream: wire.Stderr, Data: []byte(strings.Repeat(fmt.Sprint(seq), 1+rnd.IntN(3000)))}
		switch rnd.IntN(20) {
		case 0:
			e = Event{Kind: Exited, Seq: seq, ExitCode: -3, SandboxDenied: true}
		case 1:
			e = Event{Kind: gapHere, Err: &LaggedError{First: seq, Next: seq + 1}}
		}
		if fits := b.fits(&e); b.push(e) {
			want = append(want, e)
		} else if refused++; fits || e.Kind != Output {
			t.Fatalf("%v refused, fits: %v", e.Kind, fits)
		}
		for range rnd.IntN(5) / 2 {
			if got, ok := b.pop(); ok {
				if !reflect.DeepEqual(got, want[0]) {
					t.Fatalf("%.80v, want %.80v", got, want[0])
				}
				want = want[1:]
			}
		}
	}
	if !b.slow() || b.empty() || refused == 0 || b.head < b.limit {
		t.Errorf("slow %v, empty %v, %d refused", b.slow(), b.empty(), refused)
	}
	for _, e := range want {
		if got, ok := b.pop(); !ok || !reflect.DeepEqual(got, e) {
			t.Fatalf("%.80v, want %.80v", got, e)
		}
	}
	if _, ok := b.pop(); ok || !b.empty() || b.slow() {
		t.Error("more came out than went in")
	}
	b.close()
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Without a place for the file, output over what memory keeps is refused, and an
// end is not.
func TestBacklogWithoutFile(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()+"/missing")
	b := backlog{limit: 1 << 20}
	data := make([]byte, 300<<10)
	for i := range 4 {
		if !b.push(Event{Kind: Output, Seq: uint64(i), Data: data}) {
			t.Fatalf("piece %d is refused", i)
		}
	}
	if b.push(Event{Kind: Output, Data: data}) {
		t.Error("a piece is kept without a file")
	}
	if !b.push(Event{Kind: Closed}) {
		t.Error("an end is refused")
	}
	kinds := ""
	for e, ok := b.pop(); ok; e, ok = b.pop() {
		kinds += e.Kind.String() + " "
	}
	is(t, kinds, "output output output output closed ")
}

// A subscription that is not read holds up no other process: what it does not
// read goes to its file, and what does not fit there is told to it alone.
func TestUnreadHoldsUpNobody(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{Spill: 4 << 20}, true)
		_, unread := start(t, c, conn, "unread", Keep)
		_, other := start(t, c, conn, "other", Keep)
		big := strings.Repeat("x", 256<<10)
		for q := uint64(1); q <= 40; q++ {
			conn.out("unread", q, big)
			conn.out("other", q, "y")
		}
		conn.exited("unread", 41, 3)
		conn.closed("unread", 42)
		for q := 1; q <= 40; q++ {
			is(t, story(t, other, 1), fmt.Sprintf("%d:y", q))
		}
		kept := 0
		var lag *LaggedError
		for e, err := range unread.All(t.Context()) {
			switch {
			case errors.As(err, &lag):
			case err != nil:
				t.Fatal(err)
			case e.Kind == Output && lag == nil:
				if kept++; e.Seq != uint64(kept) || len(e.Data) != len(big) {
					t.Fatalf("event %d of %d bytes, want %d", e.Seq, len(e.Data), kept)
				}
			}
		}
		if lag == nil || int(lag.First) != kept+1 || lag.Next != 41 || kept < 16 || kept > 22 {
			t.Errorf("%d of 40 were kept, %v", kept, lag)
		}
	})
}

// Neither does the body of an answer that is not read.
func TestUnreadBodyHoldsUpNobody(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{Spill: 1 << 20}, true)
		body := stream(t, c, conn, "r", nil)
		_, other := start(t, c, conn, "other", Keep)
		big := strings.Repeat("x", 256<<10)
		for q := uint64(1); q <= 20; q++ {
			conn.delta("r", q, big, false, nil)
			conn.out("other", q, "y")
		}
		is(t, story(t, other, 20), strings.TrimSpace(func() (all string) {
			for q := 1; q <= 20; q++ {
				all += fmt.Sprintf("%d:y ", q)
			}
			return all
		}()))
		is(t, string(conn.want(wire.MethodHTTPCancel).Params), `{"requestId":"r"}`)
		n := 0
		for buf := make([]byte, 1<<20); ; {
			m, err := body.Read(buf)
			if n += m; err != nil {
				if !errors.Is(err, ErrLagged) || n < 1<<20 || n > 3<<20 {
					t.Errorf("%d bytes, %v", n, err)
				}
				break
			}
		}
		body.Close()
		synctest.Wait()
	})
}
