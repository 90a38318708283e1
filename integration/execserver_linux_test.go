//go:build linux

package integration

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hostsup/hostsup/execserver"
	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/require"
)

func init() { roles["lines"] = writeLines }

// Environment of the role "lines".
const (
	linesEnv       = "HOSTSUP_TEST_LINES"        // how many at least
	linesRateEnv   = "HOSTSUP_TEST_LINES_RATE"   // a second; 0 is as fast as they go
	linesSumEnv    = "HOSTSUP_TEST_LINES_SUM"    // file that gets how many there were, and their sum
	linesEnoughEnv = "HOSTSUP_TEST_LINES_ENOUGH" // file without which there are more; "": none
)

// writeLines writes numbered lines, so many a second by the clock, however late
// it is woken, until there are enough, and then leaves their number and sum in a
// file.
func writeLines() int {
	total, err1 := strconv.Atoi(os.Getenv(linesEnv))
	rate, err2 := strconv.Atoi(os.Getenv(linesRateEnv))
	if err1 != nil || err2 != nil {
		return 2
	}
	enough := os.Getenv(linesEnoughEnv)
	sum := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(os.Stdout, sum), 32<<10)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	n := 0
	for begun, more := time.Now(), true; more; {
		due := total
		if rate > 0 {
			<-tick.C
			due = int(time.Since(begun).Seconds() * float64(rate))
		}
		for ; n < due; n++ {
			fmt.Fprintf(out, "line %08d\n", n)
		}
		if out.Flush() != nil {
			return 1
		}
		if more = n < total; !more && enough != "" {
			_, err := os.Stat(enough)
			more = err != nil
		}
	}
	if os.WriteFile(os.Getenv(linesSumEnv), fmt.Appendf(nil, "%d %x", n, sum.Sum(nil)), 0o600) != nil {
		return 1
	}
	return 0
}

// reading checks that what is written to it are the lines, in order and whole.
type reading struct {
	t    testing.TB
	sum  hash.Hash
	rest []byte // of a line
	n    int    // lines
	size int    // bytes
	bad  bool
}

func (r *reading) Write(p []byte) (int, error) {
	r.sum.Write(p)
	r.size += len(p)
	r.rest = append(r.rest, p...)
	for !r.bad {
		i := bytes.IndexByte(r.rest, '\n')
		if i < 0 {
			break
		}
		if line := string(r.rest[:i]); line != fmt.Sprintf("line %08d", r.n) {
			r.bad = true
			r.t.Errorf("%q is where line %d should be", line, r.n)
		}
		r.rest = r.rest[i+1:]
		r.n++
	}
	return len(p), nil
}

// execServer is the program as a server in a process of its own, behind a relay.
func execServer(t *testing.T, network string, flags ...string) (*relay, execserver.Endpoint) {
	t.Helper()
	a := &agent{dir: place(t, os.Getuid())}
	if err := os.Mkdir(a.path("tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	listen := "ws://127.0.0.1:0"
	if network == "unix" {
		listen = "unix://" + a.path("server")
	}
	r := a.serveAt(t, network, listen, append([]string{hostsupBinary(t)}, flags...)...)
	_, to, _ := strings.Cut(r.url, "://")
	front := newRelay(t, network, to)
	e, err := execserver.ParseEndpoint(front.url())
	if err != nil {
		t.Fatal(err)
	}
	return front, e
}

// cutting cuts every so often, and as soon after that as there is a connection
// over which something has come, until it is told to stop. A connection that has
// brought nothing is not cut: how long a machine that is busy with other tests takes
// to make one is not what is asked. After so many cuts it calls done.
func cutting(front *relay, every time.Duration, events *atomic.Uint64, cuts int, done func()) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick, look := time.NewTicker(every), time.NewTicker(5*time.Millisecond)
		defer tick.Stop()
		defer look.Stop()
		for n := 0; ; {
			select {
			case <-tick.C:
			case <-end:
				return
			}
			for had := events.Load(); events.Load() == had; {
				select {
				case <-look.C:
				case <-end:
					return
				}
			}
			_, before := front.count()
			front.cut()
			if _, now := front.count(); now > before {
				n++
			}
			if n == cuts {
				done()
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// cutter is how a connection is cut again and again; the zero value leaves it alone.
type cutter struct {
	every time.Duration
	cuts  int // before which the process does not end
}

// equal runs the role "lines" over a connection that is cut again and again,
// and fails the test unless every byte of it comes, once and in order. Slowly is
// called for each piece.
func equal(t *testing.T, front *relay, e execserver.Endpoint, lines, rate int, by cutter, slowly func()) {
	t.Helper()
	c, err := execserver.Connect(ctx(t), e, execserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	session, dir := c.SessionID(), t.TempDir()
	sumFile, enough := filepath.Join(dir, "sum"), ""
	if by.cuts > 0 {
		enough = filepath.Join(dir, "enough")
	}
	env := hostEnv("lines")
	env[linesEnv], env[linesRateEnv], env[linesSumEnv], env[linesEnoughEnv] = strconv.Itoa(lines), strconv.Itoa(rate), sumFile, enough
	_, sub, err := c.StartSubscribed(ctx(t), wire.ProcessStartParams{Argv: []string{self}, Cwd: "file:///", Env: env}, execserver.Keep)
	if err != nil {
		t.Fatal(err)
	}
	got := &reading{t: t, sum: sha256.New()}
	stop := func() {}
	var events atomic.Uint64
	if by.every > 0 {
		stop = cutting(front, by.every, &events, by.cuts, func() {
			if err := os.WriteFile(enough, nil, 0o600); err != nil {
				t.Error(err)
			}
		})
	}
	exit := -1
	// How long it all takes is the machine's; that it goes on is asked here.
	going, still := context.WithCancelCause(t.Context())
	defer still(nil)
	stands := time.AfterFunc(patience, func() { still(fmt.Errorf("no event within %s", patience)) })
	defer stands.Stop()
	for event, err := range sub.All(going) {
		stands.Reset(patience)
		events.Add(1)
		if err != nil {
			t.Errorf("after %d lines: %v", got.n, err)
			break
		}
		switch event.Kind {
		case execserver.Output:
			_, _ = got.Write(event.Data) // never fails
			slowly()
		case execserver.Exited:
			exit = event.ExitCode
		case execserver.Failed:
			t.Errorf("after %d lines: %v", got.n, event.Err)
		}
	}
	stop()
	want, err := os.ReadFile(sumFile)
	if err != nil {
		t.Error(err)
	}
	all := fmt.Sprintf("%d %x", got.n, got.sum.Sum(nil))
	if exit != 0 || got.n < lines || got.size != got.n*len("line 00000000\n") || all != string(want) {
		t.Errorf("exit %d; %d bytes of lines and their sum: %s, want %s", exit, got.size, all, want)
	}
	if c.SessionID() != session {
		t.Error("it is another session")
	}
	_, cuts := front.count()
	if cuts < max(by.cuts, 3) {
		t.Errorf("only %d cuts", cuts)
	}
	t.Logf("%d lines, %d cuts", got.n, cuts)
}

// TestExecServerNothingLost has a process write ten thousand lines a second
// while the connection is cut every two seconds.
func TestExecServerNothingLost(t *testing.T) {
	t.Parallel()
	const rate = 10_000
	seconds, every := 30, 2*time.Second
	if testing.Short() && !require.All() {
		seconds, every = 5, time.Second
	}
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			// A minute of output: how long a machine that is busy with other
			// tests takes to connect again is not what is asked here.
			front, e := execServer(t, network, "--retain-kib", strconv.Itoa(8<<10))
			equal(t, front, e, seconds*rate, rate, cutter{every, 4}, func() {})
		})
	}
}

// TestExecServerSlowReader has one write as fast as it can, to a client that
// reads slowly and loses its connection every now and then, as often as it has
// made some way. What it has not read is at most what the server was told to keep.
func TestExecServerSlowReader(t *testing.T) {
	t.Parallel()
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			front, e := execServer(t, network, "--retain-kib", strconv.Itoa(64<<10))
			slow := time.NewTicker(2 * time.Millisecond)
			defer slow.Stop()
			pieces := 0
			equal(t, front, e, 1_000_000, 0, cutter{}, func() {
				<-slow.C
				if pieces++; pieces%64 == 0 {
					front.cut()
				}
			})
		})
	}
}
