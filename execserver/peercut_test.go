//go:build unix

package execserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// cutter stands between a client and a server and cuts their connections.
type cutter struct {
	l     net.Listener
	to    string
	mu    sync.Mutex
	conns []net.Conn
	wg    sync.WaitGroup
	cuts  int
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
		c.conns = append(c.conns, a, b)
		c.mu.Unlock()
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
	_, sub, err := c.StartSubscribed(t.Context(), command(`echo one; sleep 0.3; echo two; echo three >&2; exit 9`), Stall)
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

// Cuts in the middle of much output: what comes out is what went in.
func peerNothingLost(t *testing.T, ws WebSocket) {
	cut, through := newCutter(t, ws)
	c, err := Connect(t.Context(), through, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, sub, err := c.StartSubscribed(t.Context(), command(`i=0; while [ $i -lt 300 ]; do seq -f "line %06g" $((i*100+1)) $((i*100+100)); sleep 0.01; i=$((i+1)); done`), Stall)
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
	for i := 1; i <= 30_000; i++ {
		fmt.Fprintf(&want, "line %06d\n", i)
	}
	if !bytes.Equal(out.Bytes(), want.Bytes()) {
		t.Errorf("%d bytes, want %d", out.Len(), want.Len())
	}
	if cut.cuts < 3 {
		t.Errorf("%d cuts", cut.cuts)
	}
}

// A reader that is slow gets everything too.
func peerSlowReader(t *testing.T, c *Client) {
	_, sub, err := c.StartSubscribed(t.Context(), command(`head -c 20000000 /dev/zero`), Stall)
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
