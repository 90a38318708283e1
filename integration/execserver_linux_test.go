//go:build linux

package integration

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/execserver"
	"github.com/hostsup/hostsup/execserver/wire"
)

func init() { roles["lines"] = writeLines }

// Environment of the role "lines".
const (
	linesEnv     = "HOSTSUP_TEST_LINES"      // how many
	linesRateEnv = "HOSTSUP_TEST_LINES_RATE" // a second; 0 is as fast as they go
	linesSumEnv  = "HOSTSUP_TEST_LINES_SUM"  // file that gets the sum of what was written
)

// writeLines writes numbered lines, so many a second by the clock, however late
// it is woken, and then leaves the sum of all of them in a file.
func writeLines() int {
	total, err1 := strconv.Atoi(os.Getenv(linesEnv))
	rate, err2 := strconv.Atoi(os.Getenv(linesRateEnv))
	if err1 != nil || err2 != nil {
		return 2
	}
	sum := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(os.Stdout, sum), 32<<10)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for begun, n := time.Now(), 0; n < total; {
		due := total
		if rate > 0 {
			<-tick.C
			due = min(total, int(time.Since(begun).Seconds()*float64(rate)))
		}
		for ; n < due; n++ {
			fmt.Fprintf(out, "line %08d\n", n)
		}
		if out.Flush() != nil {
			return 1
		}
	}
	if os.WriteFile(os.Getenv(linesSumEnv), []byte(hex.EncodeToString(sum.Sum(nil))), 0o600) != nil {
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

// cutting cuts every so often until it is told to stop.
func cutting(front *relay, every time.Duration) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				front.cut()
			case <-end:
				return
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// equal runs the role "lines" over a connection that is cut again and again,
// and fails the test unless every byte of it comes, once and in order. Slowly is
// called for each piece; with every above 0 the connection is cut so often.
func equal(t *testing.T, front *relay, e execserver.Endpoint, lines, rate int, every time.Duration, slowly func()) {
	t.Helper()
	c, err := execserver.Connect(ctx(t), e, execserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	session, sumFile := c.SessionID(), filepath.Join(t.TempDir(), "sum")
	env := hostEnv("lines")
	env[linesEnv], env[linesRateEnv], env[linesSumEnv] = strconv.Itoa(lines), strconv.Itoa(rate), sumFile
	_, sub, err := c.StartSubscribed(ctx(t), wire.ProcessStartParams{Argv: []string{self}, Cwd: "file:///", Env: env}, execserver.Stall)
	if err != nil {
		t.Fatal(err)
	}
	got := &reading{t: t, sum: sha256.New()}
	stop := func() {}
	if every > 0 {
		stop = cutting(front, every)
	}
	exit := -1
	// How long it all takes is the machine's; that it goes on is asked here.
	going, still := context.WithCancelCause(t.Context())
	defer still(nil)
	stands := time.AfterFunc(patience, func() { still(fmt.Errorf("no event within %s", patience)) })
	defer stands.Stop()
	for event, err := range sub.All(going) {
		stands.Reset(patience)
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
	if sum := hex.EncodeToString(got.sum.Sum(nil)); exit != 0 || got.n != lines || got.size != lines*len("line 00000000\n") || sum != string(want) {
		t.Errorf("exit %d; %d lines of %d, %d bytes with sum %s, want %s", exit, got.n, lines, got.size, sum, want)
	}
	if c.SessionID() != session {
		t.Error("it is another session")
	}
	_, cuts := front.count()
	if cuts < 3 {
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
	if testing.Short() && !required() {
		seconds, every = 5, time.Second
	}
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			// A minute of output: how long a machine that is busy with other
			// tests takes to connect again is not what is asked here.
			front, e := execServer(t, network, "--retain-kib", strconv.Itoa(8<<10))
			equal(t, front, e, seconds*rate, rate, every, func() {})
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
			equal(t, front, e, 1_000_000, 0, 0, func() {
				<-slow.C
				if pieces++; pieces%64 == 0 {
					front.cut()
				}
			})
		})
	}
}
