package control_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/supervisor"
)

// notes is the text of a log.
type notes struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *notes) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(b)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

// Callers that send or take slowly are cut off at either door, with the reason in the log,
// and others are served as ever.
func TestSlowCallersAreCutOff(t *testing.T) {
	t.Parallel()
	const big = 16 << 20
	log := new(notes)
	opt := control.Options{
		Patience: 300 * time.Millisecond, StreamPatience: 400 * time.Millisecond,
		Logger: hclog.New(&hclog.LoggerOptions{Output: log}),
	}
	ended := make(chan struct{}, 2)
	var forever iter.Seq[supervisor.Event] = func(yield func(supervisor.Event) bool) {
		defer func() { ended <- struct{}{} }()
		for yield(supervisor.Event{Reason: strings.Repeat("x", 1<<16)}) {
		}
	}
	sup := everything()
	sup.Members[0].OnCall = func(context.Context, control.Call) (codec.Raw, error) {
		return sup.Members[0].Enc.Marshal(strings.Repeat("x", big))
	}
	socket := controltest.Serve(t, endless{sup, forever}, opt)
	addr := console(t, endless{sup, forever}, opt, control.Access{})
	for _, at := range []way{{"unix", socket, "hostsup", ""}, {"tcp", addr, addr, secretOf(control.RoleFull)}} {
		t.Run(at.network, func(t *testing.T) {
			head := fmt.Sprintf("Host: %s\r\n", at.name)
			if at.token != "" {
				head += fmt.Sprintf("Authorization: Bearer %s\r\n", at.token)
			}
			dial := func(request string) net.Conn {
				c, err := net.Dial(at.network, at.address)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { c.Close() })
				if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
					t.Fatal(err)
				}
				if _, err := io.WriteString(c, request); err != nil {
					t.Fatal(err)
				}
				return c
			}
			logged := func(operation, reason string) bool {
				for ln := range strings.Lines(log.String()) {
					if strings.Contains(ln, "operation="+operation+" ") && strings.Contains(ln, reason) && strings.Contains(ln, "from="+map[string]string{"unix": "@", "tcp": "127."}[at.network]) {
						return true
					}
				}
				return false
			}

			// A header that comes a byte at a time.
			if rest := trickle(t, dial("GET /v1/status HTTP/1.1\r\n"+head+"X: "), "x"); len(rest) > 0 && !bytes.Contains(rest, []byte(" 408 ")) {
				t.Errorf("a slow header: %q", rest)
			}

			// A body that comes so, which the operation reads, or does not.
			rest := trickle(t, dial("POST /v1/hosts/ts/call HTTP/1.1\r\n"+head+"Content-Length: 100000\r\n\r\n{"), " ")
			if !bytes.Contains(rest, []byte("did not arrive in time")) || classIn(t, rest[bytes.Index(rest, []byte("\r\n\r\n{"))+4:]) != control.Invalid {
				t.Errorf("a slow body: %q", rest)
			}
			if !logged("call", "it did not send the request in time") {
				t.Errorf("the log: %s", log)
			}
			rest = trickle(t, dial("GET /v1/caller HTTP/1.1\r\n"+head+"Content-Length: 100000\r\n\r\n{"), " ")
			if !bytes.Contains(rest, []byte(`"role":"full"`)) || !bytes.Contains(rest, []byte("Connection: close")) {
				t.Errorf("a slow body that nothing reads: %q", rest)
			}

			// A reader that does not read a large answer, or a stream.
			c := dial("POST /v1/hosts/ts/call HTTP/1.1\r\n" + head + "Content-Length: 14\r\n\r\n" + `{"method":"m"}`)
			// The answer begins, and the rest is more than may lie between both ends.
			begin := make([]byte, 12)
			if _, err := io.ReadFull(c, begin); err != nil || string(begin) != "HTTP/1.1 200" {
				t.Fatalf("%q, %v", begin, err)
			}
			poll.Until(t, time.Minute, "the cut", func() bool { return logged("call", "it did not take the answer in time") })
			if n, err := io.Copy(io.Discard, c); n >= big || err != nil && !errors.Is(err, net.ErrClosed) && !strings.Contains(err.Error(), "reset") {
				t.Errorf("%d bytes, %v", n, err)
			}
			dial("GET /v1/events?follow=true HTTP/1.1\r\n" + head + "\r\n")
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Fatal("the stream that is not read goes on")
			}
			poll.Until(t, time.Minute, "the cut", func() bool { return logged("events", "it did not take the answer in time") })

			// A reader that takes its time, but takes.
			c = dial("GET /v1/events?follow=true HTTP/1.1\r\n" + head + "\r\n")
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			for range 20 {
				<-tick.C
				if _, err := io.ReadFull(c, make([]byte, 1<<18)); err != nil {
					t.Fatalf("a slow reader of a stream: %v", err)
				}
			}
			c.Close()
			<-ended

			got, err := controltest.Send(at.network, at.address, controltest.Hostile{Method: http.MethodGet, Target: "/v1/status"}.Raw(at.name, at.token), false)
			if err != nil || got == nil || got.Status != http.StatusOK || !bytes.Contains(got.Body, []byte(`"ts"`)) {
				t.Errorf("afterwards: %+v, %v", got, err)
			}
		})
	}
}

// A caller that closes the connection after the answer gets it, also while it still sends
// a body that nothing reads to its end.
func TestAnswerBesideABody(t *testing.T) {
	const size = 200_000
	sup := everything()
	socket := controltest.Serve(t, sup, control.Options{})
	addr := console(t, sup, control.Options{}, control.Access{})
	for _, at := range []way{{"unix", socket, "hostsup", ""}, {"tcp", addr, addr, secretOf(control.RoleFull)}, {"tcp", addr, addr, "wrong"}} {
		for _, target := range []string{"POST /v1/hosts/ts/call", "GET /v1/caller", "GET /v1/nothing"} {
			t.Run(at.network+at.token+target, func(t *testing.T) {
				t.Parallel()
				c, err := net.Dial(at.network, at.address)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
					t.Fatal(err)
				}
				head := fmt.Sprintf("%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %d\r\n", target, at.name, size)
				if at.token != "" {
					head += fmt.Sprintf("Authorization: Bearer %s\r\n", at.token)
				}
				if _, err := io.WriteString(c, head+"\r\n"); err != nil {
					t.Fatal(err)
				}
				for part := range slices.Chunk(bytes.Repeat([]byte("]"), size), 4000) {
					if _, err := c.Write(part); err != nil {
						t.Fatal(err)
					}
					runtime.Gosched()
				}
				answer, err := io.ReadAll(c)
				if err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 ")) {
					t.Errorf("%q, %v", answer, err)
				}
			})
		}
	}
}

// trickle sends a byte every few milliseconds until the server ends the connection, and
// returns what it has answered.
func trickle(t *testing.T, c net.Conn, b string) []byte {
	t.Helper()
	answered := make(chan []byte)
	go func() {
		text, _ := io.ReadAll(bufio.NewReader(c)) // it may be reset behind the answer
		answered <- text
	}()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(time.Minute); ; {
		select {
		case text := <-answered:
			return text
		case <-tick.C:
			_, _ = io.WriteString(c, b) // an end is seen by the reader
		case <-deadline:
			t.Fatal("the connection stays open")
		}
	}
}
