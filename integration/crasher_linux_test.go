package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"strconv"
	"sync"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/codec/msgpackrpc"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/sdk"
)

// crashers are hosts that crash over "fire" if they were given "arm" before, in each protocol.
// With TOKEN in their environment they print it then.
var crashers = map[string]codec.Protocol{
	"crasher-native":  native.New(),
	"crasher-lines":   jsonrpc.Lines(jsonrpc.Options{}),
	"crasher-headers": jsonrpc.Headers(jsonrpc.Options{}),
	"crasher-msgpack": msgpackrpc.New(msgpackrpc.Options{}),
}

func init() {
	roles["crasher-native"] = func() int {
		c := &crasher{}
		s := sdk.New(sdk.Info{Name: "crasher", Version: "1"})
		for _, method := range []string{"arm", "fire", "idle"} {
			sdk.Handle(s, method, func(context.Context, any) (any, error) {
				c.take(method)
				return nil, nil
			})
			sdk.OnNotify(s, method, func(context.Context, any) error {
				c.take(method)
				return nil
			})
		}
		if s.Serve(context.Background()) != nil {
			return 1
		}
		return 0
	}
	roles["crasher-lines"] = func() int {
		in, out := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)
		return crashJSON(func() ([]byte, error) { return in.ReadBytes('\n') }, func(answer any) error { return out.Encode(answer) })
	}
	roles["crasher-headers"] = func() int {
		in := bufio.NewReader(os.Stdin)
		return crashJSON(func() ([]byte, error) {
			head, err := textproto.NewReader(in).ReadMIMEHeader()
			if err != nil {
				return nil, err
			}
			n, err := strconv.Atoi(head.Get("Content-Length"))
			if err != nil {
				return nil, err
			}
			body := make([]byte, n)
			_, err = io.ReadFull(in, body)
			return body, err
		}, func(answer any) error {
			body, err := json.Marshal(answer)
			if err == nil {
				_, err = fmt.Printf("Content-Length: %d\r\n\r\n%s", len(body), body)
			}
			return err
		})
	}
	roles["crasher-msgpack"] = func() int {
		c, in, out := &crasher{}, msgpack.NewDecoder(os.Stdin), msgpack.NewEncoder(os.Stdout)
		for {
			m, err := in.DecodeSlice()
			if err != nil {
				return 0
			}
			method, _ := m[len(m)-2].(string)
			c.take(method)
			if len(m) == 4 && out.Encode([]any{1, m[1], nil, nil}) != nil {
				return 1
			}
		}
	}
}

// crasher is the state of such a host.
type crasher struct {
	mu          sync.Mutex
	armed, seen int
}

func (c *crasher) take(method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen++
	switch {
	case method == "arm":
		c.armed++
	case method == "fire" && c.armed > 0:
		fmt.Fprintf(os.Stderr, "login with %s\nTypeError: no target in %s after %d messages\n    at fire (%s/gun.js:%d:1)\n    at main (%[2]s/main.js:5:1)\n",
			os.Getenv("TOKEN"), os.TempDir(), c.seen, os.TempDir(), c.seen)
		os.Exit(3)
	}
}

// crashJSON is a host that speaks JSON-RPC.
func crashJSON(read func() ([]byte, error), write func(any) error) int {
	c := &crasher{}
	for {
		body, err := read()
		if err != nil {
			return 0
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(body, &m) != nil {
			return 1
		}
		c.take(m.Method)
		if len(m.ID) == 0 {
			continue
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": nil}
		if m.Method == "initialize" {
			answer["result"] = map[string]any{
				"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "serverInfo": map[string]any{"name": "crasher", "version": "1.2.3"},
			}
		}
		if write(answer) != nil {
			return 1
		}
	}
}
