//go:build unix

package execserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
)

// cutter stands between a client and a server and cuts their connections.
type cutter struct {
	l     net.Listener
	to    string
	mu    sync.Mutex
	conns []net.Conn
	wg    sync.WaitGroup
	cuts  int
	down  bool // nobody gets through
}

func newCutter(t *testing.T, ws WebSocket) (*cutter, WebSocket) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{l: l, to: strings.TrimPrefix(ws.URL, "ws://")}
	c.wg.Go(c.accept)
	t.Cleanup(func() {
		l.Close()
		c.cut()
		c.wg.Wait()
	})
	return c, WebSocket{URL: "ws://" + l.Addr().String()}
}

func (c *cutter) accept() {
	for {
		a, err := c.l.Accept()
		if err != nil {
			return
		}
		b, err := net.Dial("tcp", c.to)
		if err != nil {
			a.Close()
			continue
		}
		c.mu.Lock()
		down := c.down
		c.conns = append(c.conns, a, b)
		c.mu.Unlock()
		if down {
			c.cut()
			continue
		}
		c.wg.Go(func() {
			_, _ = io.Copy(a, b) // until it is cut
			a.Close()
		})
		c.wg.Go(func() {
			_, _ = io.Copy(b, a) // likewise
			b.Close()
		})
	}
}

// leave has nobody get through from now on, or everybody.
func (c *cutter) leave(down bool) {
	c.mu.Lock()
	c.down = down
	c.mu.Unlock()
	c.cut()
}

func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // what was on its way is lost
		}
		conn.Close()
	}
	c.conns = nil
	c.cuts++
}

// A process that ends while nobody is connected is heard to the end.
func peerResume(t *testing.T, ws WebSocket) {
	cut, through := newCutter(t, ws)
	c, err := Connect(t.Context(), through, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	session := c.SessionID()
	_, sub, err := c.StartSubscribed(t.Context(), command(`echo one; sleep 0.3; echo two; echo three >&2; exit 9`), Keep)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := sub.Next(t.Context()); err != nil || string(e.Data) != "one\n" {
		t.Fatal(e, err)
	}
	cut.cut()
	var out, errs bytes.Buffer
	exit, err := sub.Copy(t.Context(), &out, &errs)
	if err != nil || exit.Code != 9 || out.String() != "two\n" || errs.String() != "three\n" {
		t.Errorf("%q %q %+v %v", out.String(), errs.String(), exit, err)
	}
	if c.SessionID() != session {
		t.Error("it is another session")
	}
	// A later client goes on with it.
	cut.cut()
	c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	next, err := Connect(ctx, ws, Options{Resume: session})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if _, err := Connect(ctx, ws, Options{Resume: "no-such"}); !errors.Is(err, ErrUnknownSession) {
		t.Error(err)
	}
}

// What two clients write to a process one after the other reaches it: a server
// writes once for each id of a write.
func peerAdoptedInput(t *testing.T, ws WebSocket) {
	c, err := Connect(t.Context(), ws, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	params := command(`while read -r x; do echo got "$x"; done`)
	params.TTY = true // a terminal's input stays open in each server
	p, sub, err := c.StartSubscribed(t.Context(), params, Keep)
	if err != nil {
		t.Fatal(err)
	}
	answered := func(p *Process, sub *Subscription, word string) uint64 {
		t.Helper()
		if _, err := p.Write(t.Context(), []byte(word+"\n")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		for out := ""; ; {
			e, err := sub.Next(ctx)
			if err != nil {
				t.Fatalf("%v after %q", err, out)
			}
			if out += string(e.Data); strings.Contains(out, "got "+word) {
				return e.Seq
			}
		}
	}
	last := answered(p, sub, "one")
	session := c.SessionID()
	c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, word := range []string{"two", "three"} {
		next, err := Connect(ctx, ws, Options{Resume: session})
		if err != nil {
			t.Fatal(err)
		}
		defer next.Close()
		adopted, err := next.Adopt(ctx, p.ID(), last)
		if err != nil {
			t.Fatal(err)
		}
		last = answered(adopted, adopted.Subscribe(Keep), word)
		next.Close()
	}
}

// Cuts in the middle of much output: what comes out is what went in.
func peerNothingLost(t *testing.T, ws WebSocket) {
	cut, through := newCutter(t, ws)
	c, err := Connect(t.Context(), through, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, sub, err := c.StartSubscribed(t.Context(), command(`i=0; while [ $i -lt 600 ]; do seq -f "line %06g" $((i*500+1)) $((i*500+500)); sleep 0.01; i=$((i+1)); done`), Keep)
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(400 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				cut.cut()
			case <-stop:
				return
			}
		}
	})
	var out bytes.Buffer
	exit, err := sub.Copy(t.Context(), &out, nil)
	close(stop)
	wg.Wait()
	if err != nil || exit.Code != 0 {
		t.Fatalf("%+v %v", exit, err)
	}
	var want bytes.Buffer
	for i := 1; i <= 300_000; i++ {
		fmt.Fprintf(&want, "line %06d\n", i)
	}
	if !bytes.Equal(out.Bytes(), want.Bytes()) {
		t.Errorf("%d bytes, want %d", out.Len(), want.Len())
	}
	if want.Len() < 3*wire.RetainBytes {
		t.Errorf("a server keeps %d bytes of %d by itself", wire.RetainBytes, want.Len())
	}
	if cut.cuts < 3 {
		t.Errorf("%d cuts", cut.cuts)
	}
}

// A reader that is slow gets everything too.
func peerSlowReader(t *testing.T, c *Client) {
	_, sub, err := c.StartSubscribed(t.Context(), command(`head -c 20000000 /dev/zero`), Keep)
	if err != nil {
		t.Fatal(err)
	}
	n, slow := 0, 0
	for e, err := range sub.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if n += len(e.Data); slow < 20 { // at first
			<-time.After(10 * time.Millisecond)
			slow++
		}
	}
	if n != 20_000_000 {
		t.Errorf("%d bytes", n)
	}
}

// Reading a file, writing one, and a command whose input and output are large go
// on over cuts, whole.
func peerWorkOverCuts(t *testing.T, ws WebSocket) {
	cut, through := newCutter(t, ws)
	c, err := Connect(t.Context(), through, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	dir, fsys := t.TempDir(), c.FS()
	want := make([]byte, 12<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(want) // never fails

	// Each time a piece has gone, the connection is cut, so that all of them are
	// cut at work.
	cutting := func(every int) io.Writer {
		n := 0
		return writer(func(p []byte) (int, error) {
			if n += len(p); n >= every {
				n = 0
				cut.cut()
			}
			return len(p), nil
		})
	}
	before := cut.cuts
	written := make(chan error, 1)
	go func() { written <- fsys.WriteFile(t.Context(), filepath.Join(dir, "f"), want) }()
	cut.cut()
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	f, err := fsys.Open(t.Context(), filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := io.ReadAll(io.TeeReader(io.LimitReader(f, 1<<40), cutting(3<<20)))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of a file, %v", len(got), err)
	}

	cmd := c.Command(t.Context(), "head", "-c", fmt.Sprint(1<<20)) // as much as any server retains
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout = io.MultiWriter(&out, cutting(256<<10))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(want[:1<<20]); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil || !bytes.Equal(out.Bytes(), want[:1<<20]) {
		t.Errorf("%d bytes of output, %v", out.Len(), err)
	}
	if cut.cuts-before < 5 {
		t.Errorf("%d cuts", cut.cuts-before)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }
