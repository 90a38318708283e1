//go:build linux

package integration

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/supervisor"
)

// wishesServer is a host that is a server made with the public SDK of MCP.
func wishesServer(t *testing.T, name string) supervisor.HostSpec {
	t.Helper()
	sdk, err := filepath.Abs(filepath.Join(peerDir, "@modelcontextprotocol", "sdk", "dist", "esm"))
	if err != nil {
		t.Fatal(err)
	}
	npm(t, "mcp-server-everything") // whoever has that has the SDK
	program, err := filepath.Abs(filepath.Join("testdata", "mcp_wishes_server.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	modules := url.URL{Scheme: "file", Path: sdk + "/"}
	h := demoHost(name)
	h.Command, h.Protocol = []string{peer(t, "node"), program, modules.String()}, jsonrpc.Lines(jsonrpc.Options{})
	h.Start.Timeout, h.Liveness.After, h.Stop.Grace, h.Restart.MaxCrashes = patience, patience, time.Second, 10
	h.Attach = true
	return h
}

// wished is what a process of the server was asked for.
type wished struct {
	Watched  []string
	Level    string
	Client   string
	Revision string
}

// wishes asks the server what it was asked for.
func (a *attached) wishes(tool string) wished {
	a.t.Helper()
	var result struct{ Content []struct{ Text string } }
	var out wished
	if err := json.Unmarshal([]byte(a.must("tools/call", dict{"name": tool})), &result); err != nil {
		a.t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(result.Content[0].Text), &out); err != nil {
		a.t.Fatal(err)
	}
	return out
}

// wish waits until the server has been asked for what is wanted.
func (a *attached) wish(what string, level string, watched ...string) {
	a.t.Helper()
	var got wished
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if got = a.wishes("wishes"); got.Level == level && slices.Equal(got.Watched, watched) {
			return
		}
	}
	a.t.Errorf("%s: the server was asked for %+v, want %q and %q", what, got, level, watched)
}

// said returns what the server tells the program when it tells everything.
func (a *attached) said(caller *attached) (out []string) {
	a.t.Helper()
	caller.wishes("say")
	a.must("tools/call", dict{"name": "wishes"}) // the answer comes after what was said
	for {
		select {
		case m := <-a.notes:
			var p struct{ Level, URI string }
			if err := json.Unmarshal(m.Params, &p); err == nil && p.Level+p.URI != "" {
				out = append(out, p.Level+p.URI)
			}
		default:
			return out
		}
	}
}

func named(name, revision string) dict {
	return dict{"protocolVersion": revision, "capabilities": dict{}, "clientInfo": dict{"name": name, "version": "1"}}
}

// Subscriptions and levels are each program's own, in this life and in the next.
func TestAttachWishes(t *testing.T) {
	t.Parallel()
	h := wishesServer(t, "wishes")
	sup, host := alone(t, h)
	join := func(name string) *attached {
		a := attachTo(t, sup, "wishes", h.Protocol)
		a.must("initialize", named(name, "2025-11-25"))
		return a
	}
	leave := func(a *attached) {
		_ = a.rw.Close()
		<-a.served
	}
	one, two := join("one"), join("two")
	of := func(uri string) dict { return dict{"uri": uri} }

	// Two subscribe, one of them twice: the last end counts.
	one.must("resources/subscribe", of("x://a"))
	one.must("resources/subscribe", of("x://a"))
	two.must("resources/subscribe", of("x://a"))
	one.must("resources/unsubscribe", of("x://a"))
	one.wish("another program is subscribed", "", "x://a")
	two.must("resources/unsubscribe", of("x://a"))
	one.wish("nobody is subscribed", "")
	if _, err := one.call("resources/subscribe", of("x://none")); err == nil {
		t.Error("a subscription that the server refuses")
	}

	// Each has what it has asked for.
	one.must("logging/setLevel", dict{"level": "error"})
	two.must("logging/setLevel", dict{"level": "warning"})
	one.must("logging/setLevel", dict{"level": "critical"})
	one.must("resources/subscribe", of("x://one"))
	two.must("resources/subscribe", of("x://two"))
	one.wish("both", "warning", "x://one", "x://two")
	if got := one.said(two); !slices.Equal(got, []string{"critical", "alert", "emergency", "x://one", "x://part/of"}) {
		t.Errorf("the first is told %q", got)
	}
	two.notes = make(chan codec.Message, 4096)
	if got := two.said(one); !slices.Equal(got, []string{"warning", "error", "critical", "alert", "emergency", "x://two", "x://part/of"}) {
		t.Errorf("the second is told %q", got)
	}

	// A crash takes nothing of it.
	if err := syscall.Kill(*host.Status().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return host.Status().Life == 2 && host.Status().PID != nil })
	one.wish("the next life", "warning", "x://one", "x://two")

	// Who leaves is not listened for any more.
	leave(two)
	one.wish("the second has left", "critical", "x://one")
	if err := syscall.Kill(*host.Status().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return host.Status().Life == 3 && host.Status().PID != nil })
	one.wish("the life after", "critical", "x://one")

	// Nobody is there: another opening is another life, the same one is not.
	leave(one)
	same := join("one")
	if got := same.wishes("wishes"); host.Status().Life != 3 || got.Client != "one" || len(got.Watched) > 0 {
		t.Errorf("the same opening: life %d, %+v", host.Status().Life, got)
	}
	leave(same)
	other := attachTo(t, sup, "wishes", h.Protocol)
	other.must("initialize", named("other", "2025-06-18"))
	if got := other.wishes("wishes"); host.Status().Life != 4 || got.Client != "other" || got.Revision != "2025-06-18" || got.Level != "" {
		t.Errorf("another opening: life %d, %+v", host.Status().Life, got)
	}
}
