//go:build linux

package integration

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// wireClient is a client of an exec server that does only what it is told to:
// it reads nothing by itself, and leaves without a word.
type wireClient struct {
	t   testing.TB
	ws  *websocket.Conn
	tcp net.Conn
}

func dialWire(t testing.TB, url string) *wireClient {
	t.Helper()
	c := &wireClient{t: t}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		c.tcp = conn
		return conn, err
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	var err error
	if c.ws, _, err = websocket.Dial(ctx(t), url, &websocket.DialOptions{HTTPClient: client}); err != nil { //nolint:bodyclose // the library closes it
		t.Fatal(err)
	}
	t.Cleanup(c.leave)
	c.ws.SetReadLimit(-1)
	c.send(`{"id":0,"method":"initialize","params":{"clientName":"wire"}}`)
	c.until(`"id":0`)
	c.send(`{"method":"initialized"}`)
	return c
}

func (c *wireClient) send(format string, args ...any) {
	c.t.Helper()
	if err := c.ws.Write(ctx(c.t), websocket.MessageText, fmt.Appendf(nil, format, args...)); err != nil {
		c.t.Fatal(err)
	}
}

// until reads up to a message that has all of the texts.
func (c *wireClient) until(texts ...string) {
	c.t.Helper()
	for {
		_, b, err := c.ws.Read(ctx(c.t))
		if err != nil {
			c.t.Fatalf("waiting for %q: %v", texts, err)
		}
		n := 0
		for _, text := range texts {
			if bytes.Contains(b, []byte(text)) {
				n++
			}
		}
		if n == len(texts) {
			return
		}
	}
}

func (c *wireClient) leave() { _ = c.ws.CloseNow() } // it may have ended

// start runs a shell's script, and is answered with id.
func (c *wireClient) start(id int, tty bool, script string) {
	c.t.Helper()
	c.send(`{"id":%d,"method":"process/start","params":{"processId":"p%d","argv":["/bin/sh","-c",%q],"cwd":"file:///","env":{"PATH":"/usr/bin:/bin"},"tty":%t,"pipeStdin":%t}}`,
		id, id, script, tty, !tty)
}

// input writes n bytes to the stdin of the process that start was asked for
// with id.
func (c *wireClient) input(id, n int) {
	c.t.Helper()
	c.send(`{"id":"in","method":"process/write","params":{"processId":"p%d","chunk":%q,"writeId":"w%d"}}`, id, base64.StdEncoding.EncodeToString(make([]byte, n)), n)
}

// pings sends that many without reading a pong.
func (c *wireClient) pings(n int) {
	c.t.Helper()
	frame := append([]byte{0x89, 0x80 | 125, 0, 0, 0, 0}, make([]byte, 125)...) // with a mask that changes nothing
	many := bytes.Repeat(frame, 1000)
	for range n / 1000 {
		if _, err := c.tcp.Write(many); err != nil {
			c.t.Fatal(err)
		}
	}
}

// descriptorsOf counts the open descriptors of a process.
func descriptorsOf(t testing.TB, pid int) int {
	t.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// residentOf is the memory that a process has, in bytes.
func residentOf(t testing.TB, pid int) (n int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatal(err)
	}
	return n << 10
}

// childrenOf counts the processes that one has started and not reaped.
func childrenOf(t testing.TB, pid int) (n int) {
	t.Helper()
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is valid
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		n += len(strings.Fields(string(text)))
	}
	return n
}

// holds is what a server has at a moment.
type holds struct{ descriptors, children, memory int }

func holdsOf(t testing.TB, pid int) holds {
	t.Helper()
	return holds{descriptorsOf(t, pid), childrenOf(t, pid), residentOf(t, pid)}
}

// What is promised of a server whose clients have left.
const (
	backMemory = 20 << 20 // bytes that it may have more than before them
	backWithin = 10 * time.Second
)

// awaited is the longest time for which a thread of a process has had to wait for a
// processor so far.
func awaited(t testing.TB, pid int) (longest time.Duration) {
	t.Helper()
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid)) // the pattern is valid
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		var ran, waited int64
		if err == nil {
			_, err = fmt.Sscan(string(text), &ran, &waited)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
		longest = max(longest, time.Duration(waited))
	}
	return longest
}

// givesBack checks that a server that the clients have just left soon has what it had
// before them: descriptors and processes exactly, and the memory but for
// backMemory. For how long other processes had its processors does not count.
func givesBack(t testing.TB, pid int, before holds) {
	t.Helper()
	left, busy := time.Now(), awaited(t, pid)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		now := holdsOf(t, pid)
		took, waited := time.Since(left), awaited(t, pid)-busy
		switch {
		case took-waited > backWithin:
			t.Fatalf("%s after they have left, %s of which it waited for a processor: %+v; before them: %+v", took, waited, now, before)
		case now.descriptors == before.descriptors && now.children == before.children && now.memory <= before.memory+backMemory:
			t.Logf("%s after they have left, %s of which it waited for a processor: %+v", took.Round(time.Millisecond), waited, now)
			return
		}
		<-tick.C
	}
}

// returning is a server of which holds what it has once a first client has left:
// what the first process needs is opened with it, and stays.
func returning(t *testing.T) (url string, pid int, before holds) {
	t.Helper()
	a := &agent{dir: place(t, os.Getuid())}
	if err := os.Mkdir(a.path("tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := a.serve(t, "returns", hostsupBinary(t), "--keep-detached", "1s", "--keep-closed", "1s")
	pid = r.cmd.Process.Pid
	if own, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err != nil || strings.TrimSpace(string(own)) != "hostsup" {
		t.Fatalf("process %d is %q, %v", pid, own, err)
	}
	// Its session ends a second after the client has left.
	first := dialWire(t, r.url)
	first.start(1, true, "echo hello")
	first.until("process/closed")
	before = holdsOf(t, pid)
	first.leave()
	for same := 0; same < 15; same++ {
		<-time.After(100 * time.Millisecond)
		if now := holdsOf(t, pid); now.descriptors != before.descriptors || now.children != before.children {
			before.descriptors, before.children, same = now.descriptors, now.children, 0
		}
	}
	return r.url, pid, before
}

// sparse is a file of that size.
func sparse(t *testing.T, size int64) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "large")
	f, err := os.Create(path)
	if err == nil {
		err = errors.Join(f.Truncate(size), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestExecServerGivesBack puts fifty sessions with twenty processes each on a
// server: clients that do not read, vanish in the middle of large answers,
// flood it with pings, write to terminals and pipes that are not read. When they
// have left, the server soon has what it had before.
func TestExecServerGivesBack(t *testing.T) {
	const sessions, processes = 50, 20
	url, pid, before := returning(t)
	large := sparse(t, 64<<20)
	kinds := []func(*wireClient){
		func(c *wireClient) { // reads nothing of what is written without end
			for p := range processes {
				c.start(p, false, "cat /dev/zero")
			}
		},
		func(c *wireClient) { // reads everything, which is retained
			for p := range processes {
				c.start(p, false, "head -c 500000 /dev/zero")
			}
			for range processes {
				c.until("process/closed")
			}
		},
		func(c *wireClient) { // writes to raw terminals and pipes that are not read
			for p := range processes {
				c.start(p, p%2 == 0, "stty raw -echo 2>/dev/null; echo up; exec sleep 1000")
			}
			for range processes {
				c.until("process/output", `"chunk":"dXA`)
			}
			for p := range processes {
				c.input(p, 200_000)
			}
		},
		func(c *wireClient) { // pings and reads nothing
			for p := range processes {
				c.start(p, false, "exec sleep 1000")
			}
			c.pings(20_000)
		},
		func(c *wireClient) { // has large files read, and vanishes while they are answered
			for p := range processes {
				c.start(p, false, "setsid sleep 1000 & echo left")
			}
			for n := range 2 {
				c.send(`{"id":"large%d","method":"fs/readFile","params":{"path":"file://%s"}}`, n, large)
			}
		},
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, 8)
	var clients []*wireClient
	for i := range sessions {
		c := dialWire(t, url)
		clients = append(clients, c)
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			kinds[i%len(kinds)](c)
		})
	}
	all.Wait()
	t.Logf("before: %+v; with %d sessions: %+v", before, sessions, holdsOf(t, pid))
	for _, c := range clients {
		c.leave()
	}
	givesBack(t, pid, before)
}

// A client that has asked for many large files, and leaves before or after they
// are read, leaves no memory taken.
func TestExecServerGivesBackFiles(t *testing.T) {
	const files, size = 8, 64 << 20
	url, pid, before := returning(t)
	large := sparse(t, size)
	for _, c := range []struct {
		name  string
		leave func(*wireClient)
	}{
		{"at once", func(*wireClient) {}},
		{"when one answer has begun to come", func(c *wireClient) {
			if _, _, err := c.ws.Reader(ctx(t)); err != nil {
				t.Fatal(err)
			}
		}},
		{"when all are read", func(c *wireClient) {
			for read := 0; read < files; {
				_, message, err := c.ws.Reader(ctx(t))
				if err != nil {
					t.Fatal(err)
				}
				// Not kept: a message that grows to this size takes a minute with the race detector.
				n, err := io.Copy(io.Discard, message)
				if err != nil {
					t.Fatal(err)
				}
				if n > size {
					read++
				}
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := dialWire(t, url)
			for n := range files {
				client.send(`{"id":"large%d","method":"fs/readFile","params":{"path":"file://%s"}}`, n, large)
			}
			c.leave(client)
			t.Logf("before: %+v; with %d files: %+v", before, files, holdsOf(t, pid))
			client.leave()
			givesBack(t, pid, before)
		})
	}
}
