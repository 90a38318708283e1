//go:build !hostsup_posix

package survive_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/codec/msgpackrpc"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/survive"
)

// rpcVar makes this test's program a server of JSON-RPC; its value is the protocol.
const rpcVar = "HOSTSUP_SURVIVE_RPC"

var rpcProtocols = map[string]codec.Protocol{
	"jsonrpc-headers": jsonrpc.Headers(jsonrpc.Options{}), "jsonrpc-lines": jsonrpc.Lines(jsonrpc.Options{}), "msgpack-rpc": msgpackrpc.New(msgpackrpc.Options{}),
}

// serveMessagePack answers "pid" and "sleep", and everything else with an error, in the protocol msgpack-rpc.
func serveMessagePack() error {
	p := rpcProtocols["msgpack-rpc"]
	s := p.Open(codec.Limits{})
	in := s.NewReader(os.Stdin)
	var mu sync.Mutex
	answer := func(m codec.Message) {
		mu.Lock()
		defer mu.Unlock()
		b, err := s.Append(nil, &m)
		if err != nil {
			panic(err)
		}
		_, _ = os.Stdout.Write(b) // its supervisor sees the end of this process
	}
	for {
		var m codec.Message
		if err := in.Next(&m); err != nil {
			return nil //nolint:nilerr // the end of the stream
		}
		out := codec.Message{Kind: codec.Response, ID: m.ID}
		switch m.Method {
		case "pid":
			raw, err := p.Marshal(os.Getpid())
			if err != nil {
				return err
			}
			out.Result = raw
			answer(out)
		case "sleep":
			time.AfterFunc(100*time.Millisecond, func() { answer(out) })
		default:
			out.Err = &codec.Error{Message: "no method " + m.Method}
			answer(out)
		}
	}
}

// serveRPC answers initialize, which it allows once, "pid", "initialized" with whether that has come, and "sleep".
// With lines it prints text between its messages.
func serveRPC(protocol string) error {
	if protocol == "msgpack-rpc" {
		return serveMessagePack()
	}
	in := bufio.NewReader(os.Stdin)
	var mu sync.Mutex
	opened, initialized := 0, false
	write := func(v any) {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if protocol == "jsonrpc-lines" {
			fmt.Printf("%s\nsome text\n", b)
		} else {
			fmt.Printf("Content-Length: %d\r\n\r\n%s", len(b), b)
		}
	}
	for {
		body, err := readRPC(in, protocol)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				MS int `json:"ms"`
			} `json:"params"`
		}
		if err := json.Unmarshal(body, &m); err != nil {
			return err
		}
		answer := func(v any) { write(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": v}) }
		switch m.Method {
		case "initialize":
			if opened++; opened > 1 {
				return fmt.Errorf("initialized twice")
			}
			answer(map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "serverInfo": map[string]any{"name": "rpc", "version": "1"}})
		case "initialized", "notifications/initialized":
			initialized = true
		case "pid":
			if !initialized {
				return fmt.Errorf("a call before initialized")
			}
			answer(os.Getpid())
		case "sleep":
			time.AfterFunc(time.Duration(m.Params.MS)*time.Millisecond, func() { answer(true) })
		case "shutdown", "ping":
			answer(nil)
		case "exit":
			return nil
		}
	}
}

func readRPC(in *bufio.Reader, protocol string) ([]byte, error) {
	if protocol == "jsonrpc-lines" {
		return in.ReadBytes('\n')
	}
	n := 0
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		if value, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			if n, err = strconv.Atoi(value); err != nil {
				return nil, err
			}
		}
	}
	b := make([]byte, n)
	_, err := io.ReadFull(in, b)
	return b, err
}

// rpc returns a host that speaks one of rpcProtocols.
func (p *plan) rpc(protocol, self string) supervisor.HostSpec {
	return supervisor.HostSpec{
		Name: protocol, Command: []string{self}, Env: map[string]string{rpcVar: protocol}, Protocol: rpcProtocols[protocol],
		Transport: hostspec.TransportStdio, Features: []supervisor.Feature{survive.Rule{}},
	}
}

// TestServersAreTakenBack kills the supervisor of servers, of which those of JSON-RPC can be initialized once, between
// calls that they answer late.
func TestServersAreTakenBack(t *testing.T) {
	p := &plan{State: t.TempDir(), RPC: true}
	pids := map[string]int{}
	for i := range 3 {
		f := begin(t, p)
		for name := range rpcProtocols {
			pid := f.pid(name)
			if i > 0 && pid != pids[name] {
				t.Errorf("%s: process %d, expected %d", name, pid, pids[name])
			}
			pids[name] = pid
			for range 20 {
				f.pid(name)
			}
			f.call("&" + name + ` sleep ` + map[bool]string{false: `{"ms":100}`, true: `[100]`}[name == "msgpack-rpc"])
		}
		f.kill()
	}
	sup := next(t, p)
	for name := range rpcProtocols {
		h := host(t, sup, name)
		if got := pidOf(t, h); got != pids[name] {
			t.Errorf("%s: process %d, expected %d", name, got, pids[name])
		}
		if err := h.Call(t.Context(), "sleep", map[bool]any{false: map[string]any{"ms": 200}, true: []any{200}}[name == "msgpack-rpc"], nil); err != nil {
			t.Error(err)
		}
		if s := h.Status(); s.State != lifecycle.Running || s.Life != 1 || s.Crashes != 0 {
			t.Errorf("%+v", s)
		}
	}
}
