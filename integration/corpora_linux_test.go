//go:build linux

package integration

import (
	"bufio"
	"bytes"
	"context"
	encoding "encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/codec/msgpackrpc"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/codec/vscode/persistent"
	"github.com/hostsup/hostsup/extensions/dscode"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sdk"
	"github.com/hostsup/hostsup/supervisor"
)

// What the role "player" plays, and how.
const (
	playEnv  = "HOSTSUP_TEST_PLAY"  // path of a file of a fuzz corpus
	speakEnv = "HOSTSUP_TEST_SPEAK" // name of the protocol; "" for bytes in the place of a handshake
)

func init() {
	// A host that says the bytes of a corpus file, and ends.
	roles["player"] = func() int {
		data, err := corpusBytes(os.Getenv(playEnv))
		if err == nil {
			err = playBytes(os.Getenv(speakEnv), data)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "player:", err)
			return 1
		}
		return 0
	}
}

// corpusBytes returns the byte slices and strings of a corpus file, one after the
// other.
func corpusBytes(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []byte
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		for _, kind := range []string{"[]byte(", "string("} {
			if quoted, is := strings.CutPrefix(line, kind); is {
				s, err := strconv.Unquote(strings.TrimSuffix(quoted, ")"))
				if err != nil {
					return nil, fmt.Errorf("%s: %s: %w", path, line, err)
				}
				out = append(out, s...)
			}
		}
	}
	return out, nil
}

// playBytes says data to the supervisor, after the handshake of the protocol.
func playBytes(protocol string, data []byte) error {
	switch protocol {
	case "hostsup":
		rw, err := sdk.Open()
		if err != nil {
			return err
		}
		s := sdk.New(sdk.Info{Name: "player", Version: "1"})
		s.HandleRaw("play", func(context.Context, codec.Raw) (codec.Raw, error) {
			_, _ = rw.Write(data) // the supervisor may have hung up
			return nil, rw.Close()
		})
		_ = s.ServeConn(context.Background(), rw) // it was broken on purpose
		return nil
	case "jsonrpc-lines", "jsonrpc-headers":
		p, result := jsonrpc.Lines(jsonrpc.Options{}), `{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"player","version":"1"}}`
		if protocol == "jsonrpc-headers" {
			p, result = jsonrpc.Headers(jsonrpc.Options{}), `{"capabilities":{}}`
		}
		session := p.Open(codec.Limits{})
		var m codec.Message
		if err := session.NewReader(os.Stdin).Next(&m); err != nil {
			return err
		}
		answer, err := session.Append(nil, &codec.Message{Kind: codec.Response, ID: m.ID, Result: codec.Raw(result)})
		if err != nil {
			return err
		}
		data = append(answer, data...)
	case "vscode":
		return playEditor(data)
	case "dscode":
		return playSockets(data, true)
	case "":
		if path := os.Getenv(envEditorSocket); path != "" {
			c, err := net.Dial("unix", path)
			if err != nil {
				return err
			}
			_, _ = c.Write(data) // the supervisor may have hung up
			return c.Close()
		}
		if os.Getenv(dscode.EnvURL) != "" {
			return playSockets(data, false)
		}
		if os.Getenv(sdk.EnvFD) != "" {
			rw, err := sdk.Open()
			if err != nil {
				return err
			}
			_, _ = rw.Write(data) // the supervisor may have hung up
			return rw.Close()
		}
	}
	_, _ = os.Stdout.Write(data) // likewise
	return nil
}

// envEditorSocket names the socket that a host of VS Code comes to.
const envEditorSocket = "VSCODE_EXTHOST_IPC_HOOK"

// playEditor says data to the supervisor as a host of VS Code, once its gate is
// open: as one message, and then as frames.
func playEditor(data []byte) error {
	c, err := net.Dial("unix", os.Getenv(envEditorSocket))
	if err != nil {
		return err
	}
	defer c.Close()
	in, last := bufio.NewReader(c), uint32(0)
	says := func(message ...byte) error {
		last++
		_, err := c.Write(append(persistent.Header{Type: persistent.Regular, ID: last, Length: uint32(len(message))}.Append(nil), message...))
		return err
	}
	if err := says(2); err != nil { // ready
		return err
	}
	for open := false; !open; {
		head := make([]byte, persistent.HeaderSize)
		if _, err := io.ReadFull(in, head); err != nil {
			return err
		}
		message := make([]byte, persistent.ParseHeader(head).Length)
		if _, err := io.ReadFull(in, message); err != nil {
			return err
		}
		switch {
		case len(message) == 0:
		case message[0] == '{': // the init data
			err = says(1)
		case message[0] >= 1 && message[0] <= 4: // a request: an answer without a value
			open = bytes.Contains(message, []byte("$initializeWorkspace"))
			err = says(append([]byte{7}, message[1:5]...)...)
		}
		if err != nil {
			return err
		}
	}
	if len(data) == 0 {
		return nil
	}
	message := data
	if len(data) > persistent.HeaderSize && data[0] == byte(persistent.Regular) {
		message = data[persistent.HeaderSize:]
	}
	_ = says(message...) // the supervisor may have hung up
	_, _ = c.Write(data) // likewise
	return nil
}

// playSockets says data to the supervisor as a host of DSCode, at the socket that
// the supervisor comes to. framed says that data is the body of a frame, and goes
// over a connection of the host's own first.
func playSockets(data []byte, framed bool) error {
	socket := func(name string) string { return strings.TrimPrefix(os.Getenv(name), "ipc://") }
	ln, err := net.Listen("unix", socket(dscode.EnvURL))
	if err != nil {
		return err
	}
	defer ln.Close()
	out, err := ln.Accept()
	if err != nil {
		return err
	}
	defer out.Close()
	if framed && len(data) > 0 {
		data = append(encoding.BigEndian.AppendUint32(nil, uint32(len(data))), data...)
		in, err := net.Dial("unix", socket(dscode.EnvIncoming))
		if err != nil {
			return err
		}
		defer in.Close()
		_, _ = in.Write(data) // the supervisor may have hung up
	}
	_, _ = out.Write(data) // likewise
	return nil
}

// fakeEditor is a folder with as much of a build of VS Code as the supervisor
// reads; its program is a file of a corpus.
func fakeEditor(t testing.TB) string {
	t.Helper()
	bundle, err := corpusBytes(filepath.Join("..", "extensions", "vscode", "testdata", "fuzz", "FuzzFindActors", "93565eca7a53f01f"))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	folder := filepath.Join(root, "out", "vs", "workbench", "api", "node")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	written(t, root, "product.json", `{"version":"1.2.3","commit":"c0ffee"}`)
	written(t, folder, "extensionHostProcess.js", string(bundle))
	return root
}

// player is a host that says one file.
type player struct {
	supervisor.HostSpec
	call string // it is called so when it runs, if that is not ""
}

// calls are the methods that players are called by after their handshake.
var calls = map[string]string{"hostsup": "play", "jsonrpc-lines": "play", "jsonrpc-headers": "play", "dscode": "play", "vscode": "ExtHostCommands.$play"}

// TestCorporaOverConnections has hosts say the bytes of each corpus file to a
// supervisor, instead of a handshake and after one. Each of these hosts ends.
// Another one beside them answers as it does beside hosts that say nothing wrong.
func TestCorporaOverConnections(t *testing.T) {
	nothing := written(t, t.TempDir(), "nothing", "go test fuzz v1\n")
	var bad, quiet []player
	add := func(p codec.Protocol, handshakes bool, folders ...string) {
		var files []string
		for _, folder := range folders {
			found, err := filepath.Glob(filepath.Join("..", "codec", folder, "testdata", "fuzz", "*", "*"))
			if err != nil || len(found) == 0 {
				t.Fatalf("%s has no corpora: %v", folder, err)
			}
			files = append(files, found...)
		}
		for i, file := range files {
			path, err := filepath.Abs(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, speak := range []string{"", p.Name()} {
				if speak != "" && !handshakes {
					continue
				}
				for _, says := range []string{path, nothing} {
					if says == nothing && i%quietEvery != 0 {
						continue
					}
					h := demoHost(fmt.Sprintf("%s-%d-%t-%t", p.Name(), i, speak != "", says == nothing), lazy, policy(lifecycle.Never), plays("player"))
					h.Protocol, h.Env[playEnv], h.Env[speakEnv] = p, says, speak
					one := player{h, calls[speak]}
					if says == nothing {
						quiet = append(quiet, one)
					} else {
						bad = append(bad, one)
					}
				}
			}
		}
	}
	add(native.New(), true, "native", "mpack")
	add(msgpackrpc.New(msgpackrpc.Options{}), false, "msgpackrpc", "mpack")
	add(jsonrpc.Lines(jsonrpc.Options{}), true, "jsonrpc")
	add(jsonrpc.Headers(jsonrpc.Options{}), true, "jsonrpc")
	add(dscode.New(), true, "dscode", filepath.Join("..", "extensions", "dscode"))
	add(vscode.New(vscode.Options{Root: fakeEditor(t), State: t.TempDir()}), true, "vscode", filepath.Join("vscode", "persistent"), filepath.Join("..", "extensions", "vscode"))

	var before, during []time.Duration
	shaken := map[string]int{}  // players that came through the handshake, by protocol
	refused := map[string]int{} // players that ended for what they said, by protocol
	said := func(sup *supervisor.Supervisor, p player) bool {
		r := host(t, sup, p.Name).Status().Reason
		return r != nil && strings.Contains(*r, "protocol: ")
	}
	// In turns, so that what else the machine does falls on both; and each with a
	// supervisor of its own, because the race detector keeps twice what one has held.
	const batch = 32
	for i := 0; i < len(bad); i += batch {
		end := min(i+batch, len(bad))
		bad, quiet := bad[i:end], quiet[len(quiet)*i/len(bad):len(quiet)*end/len(bad)]
		t.Run(strconv.Itoa(i/batch), func(t *testing.T) {
			spec := supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(demoHost("good"))}}
			for _, p := range slices.Concat(bad, quiet) {
				spec.Groups = append(spec.Groups, supervisor.Alone(p.HostSpec))
			}
			sup := start(t, spec)
			good := host(t, sup, "good")
			runs(t, good, 1)
			before = append(before, beside(t, good, func() { perform(t, sup, quiet, map[string]int{}) })...)
			during = append(during, beside(t, good, func() { perform(t, sup, bad, shaken) })...)
			for _, p := range bad {
				if said(sup, p) {
					refused[p.Protocol.Name()]++
				}
			}
			for _, p := range quiet {
				if said(sup, p) {
					t.Errorf("%s, which says nothing: %+v", p.Name, host(t, sup, p.Name).Status())
				}
			}
			if s := good.Status(); s.Life != 1 || s.State != lifecycle.Running {
				t.Errorf("the good host: %+v", s)
			}
		})
	}
	t.Logf("%d connections; after a handshake: %v; ended for what they said: %v", len(bad), shaken, refused)
	if len(shaken) != len(calls) {
		t.Errorf("of some protocol no handshake has succeeded: %v", shaken)
	}
	if len(refused) != 6 {
		t.Errorf("of some protocol no bytes have come: %v", refused)
	}
	undisturbed(t, before, during)
}

// quietEvery is the number of files for one player that says nothing. Calls beside
// these players are the measure for calls beside the others.
const quietEvery = 4

// perform starts hosts, four at a time, and waits until each has said its file and
// ended. It counts in shaken those that are called, by protocol.
func perform(t testing.TB, sup *supervisor.Supervisor, players []player, shaken map[string]int) {
	t.Helper()
	var work sync.WaitGroup
	var mu sync.Mutex
	defer work.Wait()
	slots := make(chan bool, 4)
	for _, p := range players {
		h := host(t, sup, p.Name)
		slots <- true
		work.Go(func() {
			defer func() { <-slots }()
			if err := h.Start(ctx(t)); err == nil && p.call != "" { // else it ended at once
				mu.Lock()
				shaken[p.Protocol.Name()]++
				mu.Unlock()
				// The file may have an answer; else the end of the host is the outcome.
				if err := h.Call(ctx(t), p.call, nil, nil); errors.Is(err, context.DeadlineExceeded) || errors.Is(err, supervisor.ErrTimeout) {
					t.Errorf("%s: a call has no outcome: %v", p.Name, err)
				}
			}
			if err := h.Wait(ctx(t), lifecycle.Failed, lifecycle.Stopped, lifecycle.Crashed); err != nil {
				t.Errorf("%s does not end: %v; %+v", p.Name, err, h.Status())
			}
		})
	}
}

// beside calls a host again and again while f runs, and returns how long the calls
// took. It rests between them, so that f has the machine.
func beside(t testing.TB, h *supervisor.Host, f func()) (out []time.Duration) {
	t.Helper()
	over := make(chan struct{})
	go func() { defer close(over); f() }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		began := time.Now()
		if err := h.Call(ctx(t), "echo", 1, nil); err != nil {
			t.Fatalf("%s: %v", h.Name(), err)
		}
		out = append(out, time.Since(began))
		select {
		case <-over:
			return out
		case <-tick.C:
		}
	}
}

// undisturbed compares how long calls of a host took beside others that did
// something with how long they take beside such that do not. Both are of the same
// run, so that what a slow machine does to one it does to the other.
func undisturbed(t testing.TB, before, during []time.Duration) {
	t.Helper()
	at := func(all []time.Duration, part float64) time.Duration {
		slices.Sort(all)
		return all[int(part*float64(len(all)-1))]
	}
	for _, part := range []float64{0.5, 0.99} {
		was, is := at(before, part), at(during, part)
		t.Logf("%g of %d calls: %s; of %d before: %s; ratio %.2f", part, len(during), is, len(before), was, float64(is)/float64(was))
		// Below a few milliseconds it is the scheduler that is measured.
		if is > 4*was && is > 20*time.Millisecond {
			t.Errorf("%g of the calls of a host beside took up to %s, before up to %s", part, is, was)
		}
	}
}
