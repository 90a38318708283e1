//go:build linux

package integration

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

func init() {
	// An MCP server that says as much as it is told to, and answers then; others
	// are answered meanwhile.
	roles["talker"] = func() int {
		session := jsonrpc.Lines(jsonrpc.Options{}).Open(codec.Limits{})
		r := session.NewReader(os.Stdin)
		var mu sync.Mutex
		say := func(m *codec.Message) {
			mu.Lock()
			defer mu.Unlock()
			b, err := session.Append(nil, m)
			if err == nil {
				_, err = os.Stdout.Write(b)
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, "talker:", err)
				os.Exit(1)
			}
		}
		text := codec.Raw(`{"level":"info","data":"` + strings.Repeat("x", 32<<10) + `"}`)
		for {
			var m codec.Message
			if r.Next(&m) != nil {
				return 0
			}
			if m.Kind != codec.Request {
				continue
			}
			out := codec.Message{Kind: codec.Response, ID: m.ID, Result: codec.Raw("{}")}
			switch m.Method {
			case "initialize":
				out.Result = codec.Raw(`{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"talker","version":"1"}}`)
			case "talk":
				var p struct{ MiB int }
				_ = json.Unmarshal(m.Params, &p) // else it says nothing
				go func() {                      // ends with the program
					for range p.MiB << 20 / len(text) {
						say(&codec.Message{Kind: codec.Notification, Method: "notifications/message", Params: text})
					}
					say(&out)
				}()
				continue
			}
			say(&out)
		}
	}
}

// lockedBuffer is written by a process while a test reads it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// talker is a supervisor of the shipped binary with two such servers.
type talker struct {
	t     testing.TB
	dir   string
	run   *exec.Cmd
	said  lockedBuffer
	reads func(io.Reader) io.Reader // what the next client reads its output through
}

func talkers(t testing.TB) *talker {
	t.Helper()
	hostsupBinary(t)
	dir, err := os.MkdirTemp("", "t-") //nolint:usetesting // short, for the socket in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &talker{t: t, dir: dir, reads: func(r io.Reader) io.Reader { return r }}
	written(t, dir, "config.hcl", fmt.Sprintf(`
supervisor {
  socket    = %q
  state_dir = %q
}
host "talker" {
  command  = ["/usr/bin/env", "%[3]s=talker", %[4]q]
  protocol = "jsonrpc-lines"
  unresponsive {
    after      = "5s"
    ping       = "200ms"
    kill_after = "500ms"
  }
}
host "neighbour" {
  command  = ["/usr/bin/env", "%[3]s=talker", %[4]q]
  protocol = "jsonrpc-lines"
}`, filepath.Join(dir, "s"), filepath.Join(dir, "state"), roleEnv, self))
	s.run = s.command("run")
	s.run.Stderr = &s.said
	if err := s.run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.run.Wait() }()
	t.Cleanup(func() {
		_ = s.run.Process.Signal(syscall.SIGTERM)
		<-ended
		if t.Failed() {
			t.Log(s.said.String())
		}
	})
	eventually(t, func() bool {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("it has ended: %v\n%s", err, s.said.String())
		default:
		}
		return strings.Contains(s.said.String(), "hostsup: ready")
	}, "it is ready")
	return s
}

func (s *talker) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx(s.t), hostsupBinary(s.t), args...)
	cmd.Dir = s.dir
	return cmd
}

// process is the standard input and output of one.
type process struct {
	io.Reader
	io.WriteCloser
}

// attach starts "hostsup attach HOST" and introduces itself.
func (s *talker) attach(host string) (*attached, *exec.Cmd) {
	s.t.Helper()
	cmd := s.command("attach", host)
	cmd.Stderr = &s.said
	in, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	p := jsonrpc.Lines(jsonrpc.Options{})
	a := &attached{t: s.t, session: p.Open(codec.Limits{}), enc: p, rw: process{s.reads(out), in}, notes: make(chan codec.Message, 1), read: make(chan struct{}), calls: map[uint32]chan codec.Message{}, pause: make(chan struct{})}
	go a.loop()
	s.t.Cleanup(func() {
		a.resume()
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = in.Close()
		<-a.read
		_ = cmd.Wait() // one that was cut off says so with its code
	})
	a.must("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]string{"name": "test", "version": "1"}})
	a.tell("notifications/initialized", nil)
	return a, cmd
}

// flood has the server say much, and returns how long it took and how long the
// longest call took meanwhile: of another client, and of one of another server.
func flood(t testing.TB, by, beside, neighbour *attached, mib int) (whole, longest, elsewhere time.Duration) {
	t.Helper()
	began := time.Now()
	_, answer := by.begin("talk", map[string]int{"MiB": mib})
	over := make(chan struct{})
	go func() {
		defer close(over)
		if _, err := by.wait(answer); err != nil {
			t.Errorf("the one that asked: %v", err)
		}
	}()
	var both sync.WaitGroup
	for client, most := range map[*attached]*time.Duration{beside: &longest, neighbour: &elsewhere} {
		both.Go(func() {
			for {
				at := time.Now()
				_, answer := client.begin("tools/list", nil)
				if _, err := client.wait(answer); err != nil {
					t.Error(err)
					return
				}
				*most = max(*most, time.Since(at))
				select {
				case <-over:
					return
				default:
				}
			}
		})
	}
	both.Wait()
	return time.Since(began), longest, elsewhere
}

// Clients that stop reading, one stopped by a signal and one whose program does
// not read what it prints, are cut off, and neither the host nor the other
// clients notice.
func TestClientsThatStopReading(t *testing.T) {
	// Not in parallel: a client that reads more slowly than the host writes is cut
	// off too, and the clients of this test are as fast as the machine lets them.
	s := talkers(t)
	everything := s.reads
	s.reads = newCalm
	one, _ := s.attach("talker")
	two, _ := s.attach("talker")
	neighbour, _ := s.attach("neighbour")
	s.reads = everything
	mib := require.Rounds(256, 128) // more than may wait for a client
	alone, before, _ := flood(t, one, two, neighbour, mib)

	_, stopped := s.attach("talker")
	deaf, _ := s.attach("talker")
	if err := stopped.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	deaf.pauses()
	whole, longest, elsewhere := flood(t, one, two, neighbour, mib)
	t.Logf("alone: %s, calls up to %s; beside clients that do not read: %s, calls up to %s, of the neighbour %s", alone, before, whole, longest, elsewhere)
	// Each of the two may hold the host up for 500 ms, once for each 8 MiB until it
	// is cut off. How busy the machine is meanwhile shows in the neighbour's calls.
	if limit := 4*max(before, elsewhere) + 1300*time.Millisecond; longest > limit {
		t.Errorf("a call of the other client took %s, limit %s", longest, limit)
	}
	if limit := 10*alone + 2*7*500*time.Millisecond; whole > limit {
		t.Errorf("the host took %s, limit %s", whole, limit)
	}
	cutOff := func(n int) func() bool {
		return func() bool { return strings.Count(s.said.String(), "a client is cut off") == n }
	}
	eventually(t, cutOff(2), "both are cut off")
	why := "it does not read: 64 MiB wait for it, limit 64"
	if whole > 10*time.Second { // then a client may have taken nothing for ten seconds before as much waits
		why = "it does not read: "
	}
	mentions(t, s.said.String(), why)

	// Less than that may wait, but not for ever; 8 MiB may.
	slow, _ := s.attach("talker")
	slow.pauses()
	flood(t, one, two, neighbour, 20)
	asleep, _ := s.attach("talker")
	asleep.pauses()
	flood(t, one, two, neighbour, 4)
	eventually(t, cutOff(3), "the slow one is cut off")
	mentions(t, s.said.String(), "it does not read: it took 0 KiB in 10s")
	asleep.resume()
	asleep.must("tools/list", nil)

	out, err := s.command("events").CombinedOutput()
	if err != nil || strings.Contains(string(out), "unresponsive") || strings.Contains(string(out), "crashed") {
		t.Errorf("the host has noticed: %v\n%s", err, out)
	}
	if peak := peakMiB(t, s.run.Process.Pid); peak > 512 {
		t.Errorf("the supervisor took %d MiB", peak)
	} else {
		t.Logf("the supervisor took %d MiB", peak)
	}
}

// hesitant reads, and rests after each 8 MiB.
type hesitant struct {
	io.Reader
	rest time.Duration
	took int
}

func (h *hesitant) Read(b []byte) (int, error) {
	if h.took > 8<<20 {
		<-time.After(h.rest)
		h.took = 0
	}
	n, err := h.Reader.Read(b)
	h.took += n
	return n, err
}

// calm leaves out the lines in which a talker says something. To decode them all
// takes a minute with the race detector, in which the machine does little else.
type calm struct {
	*bufio.Reader
	line []byte
}

func newCalm(r io.Reader) io.Reader { return &calm{Reader: bufio.NewReaderSize(r, 64<<10)} }

func (c *calm) Read(b []byte) (int, error) {
	for len(c.line) == 0 {
		line, err := c.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if !bytes.Contains(line, []byte(`"method":"notifications/message"`)) {
			c.line = line
		}
	}
	n := copy(b, c.line)
	c.line = c.line[n:]
	return n, nil
}

// A client that rests for longer than the host is held up for it, and reads on
// then, is slow, and gets everything.
func TestClientThatReadsSlowly(t *testing.T) {
	// Not in parallel, as TestClientsThatStopReading: beside a dozen others all clients
	// of this test are too slow.
	s := talkers(t)
	s.reads = newCalm
	one, _ := s.attach("talker")
	s.reads = func(r io.Reader) io.Reader { return newCalm(&hesitant{Reader: r, rest: 700 * time.Millisecond}) }
	slow, _ := s.attach("talker")
	_, answer := one.begin("talk", map[string]int{"MiB": 96})
	if _, err := one.wait(answer); err != nil {
		t.Error(err)
	}
	slow.must("tools/list", nil)
	if said := s.said.String(); strings.Contains(said, "a client is cut off") {
		t.Error(said)
	}
}

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peakMiB is how much memory a process has had at most.
func peakMiB(t testing.TB, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := highWater.FindSubmatch(status)
	if m == nil {
		t.Fatalf("%s", status)
	}
	kib, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kib >> 10
}

// A program that waits for a host that another one starts can leave: it is let go
// at once, however long the start takes.
func TestAttachedProgramLeavesWhileAnotherStartsTheHost(t *testing.T) {
	t.Parallel()
	mute := supervisor.HostSpec{Name: "mute", Command: []string{"sleep", "1000"}, Protocol: jsonrpc.Lines(jsonrpc.Options{})}
	mute.Start.Lazy = true
	sup, h := alone(t, mute)
	comes := func() (end context.CancelFunc, served chan error) {
		within, cancel := context.WithCancel(t.Context())
		ours, theirs := net.Pipe()
		served = make(chan error, 1)
		go func() { served <- sup.Attach(within, "mute", theirs) }()
		t.Cleanup(func() {
			cancel()
			_ = ours.Close() // it is over
		})
		if _, err := io.WriteString(ours, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`+"\n"); err != nil {
			t.Fatal(err)
		}
		return cancel, served
	}
	_, first := comes()
	if err := h.Wait(ctx(t), lifecycle.Starting); err != nil {
		t.Fatal(err)
	}
	leave, second := comes()
	leave()
	select {
	case err := <-second:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case err := <-first:
		t.Fatalf("the other one is let go first: %v", err)
	case <-time.After(30 * time.Second):
		t.Fatal("it is not let go while the other one waits")
	}
}
