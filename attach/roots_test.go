package attach

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/supervisor"
)

// A client that has roots is asked for them once, before its instance answers. What it says
// beside that is kept in order, and an answer that is late is no message of it.
func TestRootOf(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":4294967295,"result":{"roots":[{"uri":"https://x/y"},{"uri":"file:///srv/a%20b"},{"uri":"file:///srv/c"}]}}` + "\n"
	hello := func(capabilities string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":` + capabilities + "}}\n"
	}
	const ping, more = `{"jsonrpc":"2.0","id":2,"method":"ping"}` + "\n", `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	for name, x := range map[string]struct {
		capabilities string
		says         []string // after its initialize; "" is a time without a word
		root, kept   string
	}{
		"no roots":        {`{}`, []string{more}, "", more},
		"null":            {`{"roots":null}`, []string{more}, "", more},
		"an answer":       {`{"roots":{}}`, []string{answer, more}, "/srv/a b", more},
		"behind another":  {`{"roots":{}}`, []string{ping, answer, more}, "/srv/a b", ping + more},
		"none of them":    {`{"roots":{}}`, []string{`{"jsonrpc":"2.0","id":4294967295,"result":{"roots":[]}}` + "\n", more}, "", more},
		"an error":        {`{"roots":{}}`, []string{`{"jsonrpc":"2.0","id":4294967295,"error":{"code":-32601,"message":"?"}}` + "\n", more}, "", more},
		"another form":    {`{"roots":{}}`, []string{`{"jsonrpc":"2.0","id":4294967295,"result":3}` + "\n", more}, "", more},
		"too late":        {`{"roots":{}}`, []string{"", answer, more}, "", more},
		"no answer":       {`{"roots":{}}`, []string{ping, "", more}, "", ping + more},
		"it leaves":       {`{"roots":{}}`, nil, "", ""},
		"a line too long": {`{"roots":{}}`, []string{strings.Repeat("x", 5000)}, "", strings.Repeat("x", 5000)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				defer theirs.Close()
				asked := 0
				read := make(chan struct{})
				go func() {
					defer close(read)
					for s := bufio.NewScanner(ours); s.Scan(); {
						if strings.Contains(s.Text(), "roots/list") {
							asked++
						}
					}
				}()
				go func() {
					_, _ = io.WriteString(ours, hello(x.capabilities))
					synctest.Wait() // it was asked
					for _, text := range x.says {
						if text == "" {
							time.Sleep(2 * rootsWithin) //nolint:forbidigo // in a bubble, whose clock moves by itself
						}
						_, _ = io.WriteString(ours, text)
					}
					_ = ours.Close()
				}()
				spec := supervisor.HostSpec{Name: "h", Protocol: jsonrpc.Lines(jsonrpc.Options{})}
				spec.Limits.Frame = 4096
				root, rw, err := rootOf(context.Background(), spec, theirs)
				if err != nil || root != x.root {
					t.Errorf("root %q, %v, want %q", root, err, x.root)
				}
				kept, err := io.ReadAll(rw)
				if want := hello(x.capabilities) + x.kept; err != nil || string(kept) != want {
					t.Errorf("%q, %v, want %q", kept, err, want)
				}
				<-read
				if want := strings.Contains(x.capabilities, "{}}"); (asked == 1) != want || asked > 1 {
					t.Errorf("it was asked %d times", asked)
				}
			})
		})
	}
}
