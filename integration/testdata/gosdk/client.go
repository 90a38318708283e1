package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// agents connects clients of both generations to hosts of a supervisor.
type agents struct {
	hostsup, socket string
	url, token      string // over HTTP; else through hostsup attach
}

type agent struct {
	*mcp.ClientSession
	changed atomic.Int32  // news of the tools
	begun   chan struct{} // progress
}

func (a *agents) connect(ctx context.Context, host, version string) (*agent, error) {
	out := &agent{begun: make(chan struct{}, 100)}
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { out.changed.Add(1) },
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
			select {
			case out.begun <- struct{}{}:
			default:
			}
		},
	})
	var transport mcp.Transport = &mcp.CommandTransport{Command: exec.Command(a.hostsup, "--socket", a.socket, "attach", host)}
	if a.url != "" {
		transport = &mcp.StreamableClientTransport{Endpoint: a.url + "/" + host + "/mcp", HTTPClient: &http.Client{Transport: bearer(a.token)}}
	}
	var err error
	out.ClientSession, err = client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		return nil, fmt.Errorf("connect to %s with %q: %w", host, version, err)
	}
	return out, nil
}

// bearer puts a token on requests.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(b)))
	return http.DefaultTransport.RoundTrip(r)
}

func (a *agent) call(ctx context.Context, name string, token any) (string, error) {
	params := &mcp.CallToolParams{Name: name, Arguments: map[string]any{}}
	if token != nil {
		params.SetProgressToken(token)
	}
	r, err := a.CallTool(ctx, params)
	if err != nil {
		return "", err
	}
	if t, is := r.Content[0].(*mcp.TextContent); is && !r.IsError {
		return t.Text, nil
	}
	return "", fmt.Errorf("%s: %+v", name, r)
}

// again calls until it works, which is at once or after one error.
func (a *agent) again(ctx context.Context, name string) (string, error) {
	out, err := a.call(ctx, name, nil)
	if err != nil && strings.Contains(err.Error(), "SIGKILL") {
		return a.call(ctx, name, nil)
	}
	return out, err
}

// status is what the supervisor says of a host.
func (a *agents) status(ctx context.Context, host string) (s struct {
	Name, State string
	PID         int
	Life        int
}, err error) {
	out, err := exec.CommandContext(ctx, a.hostsup, "--socket", a.socket, "status", host, "--json").Output()
	if err != nil {
		return s, fmt.Errorf("status %s: %w", host, err)
	}
	all := struct{ Hosts []json.RawMessage }{}
	if err = json.Unmarshal(out, &all); err == nil && len(all.Hosts) != 1 {
		err = fmt.Errorf("%d hosts", len(all.Hosts))
	}
	if err == nil {
		err = json.Unmarshal(all.Hosts[0], &s)
	}
	return s, err
}

func (a *agents) kill(ctx context.Context, host string) error {
	s, err := a.status(ctx, host)
	if err != nil {
		return err
	}
	return syscall.Kill(s.PID, syscall.SIGKILL)
}

// use has two agents of one generation use the hosts NAME-new and NAME-old, and then both
// generations NAME at once.
func (a *agents) use(ctx context.Context, names []string) error {
	for _, host := range names {
		for suffix, version := range map[string]string{"-new": newest, "-old": "2025-11-25"} {
			if err := a.two(ctx, host+suffix, version); err != nil {
				return fmt.Errorf("host %s%s, MCP %s: %w", host, suffix, version, err)
			}
		}
		if err := a.both(ctx, host); err != nil {
			return fmt.Errorf("host %s, both generations: %w", host, err)
		}
	}
	return nil
}

func eraOf(version string) string {
	if version >= newest {
		return modern
	}
	return legacy
}

// two has two agents share a host, which is killed in the middle of their calls.
func (a *agents) two(ctx context.Context, host, version string) error {
	one, err := a.connect(ctx, host, version)
	if err != nil {
		return err
	}
	defer one.Close()
	two, err := a.connect(ctx, host, version)
	if err != nil {
		return err
	}
	defer two.Close()
	for _, x := range []*agent{one, two} {
		if got := x.InitializeResult().ProtocolVersion; got != version {
			return fmt.Errorf("it speaks %s", got)
		}
		if got, err := x.call(ctx, "era", nil); err != nil || got != eraOf(version) {
			return fmt.Errorf("era %q, %w", got, err)
		}
		list, err := x.ListTools(ctx, nil)
		if err != nil || len(list.Tools) < 3 {
			return fmt.Errorf("tools %+v, %w", list, err)
		}
	}
	if _, err := one.call(ctx, "more", nil); err != nil {
		return err
	}
	if err := news(version, one, two); err != nil {
		return err
	}
	// A call that its caller takes back leaves the server alone.
	taken, cancel := context.WithCancel(ctx)
	lost := one.async(taken, "never", 1)
	<-one.begun
	cancel()
	if err := <-lost; !errors.Is(err, context.Canceled) {
		return fmt.Errorf("a call that was taken back: %w", err)
	}
	before, err := a.status(ctx, host)
	if err != nil {
		return err
	}
	first, second := one.async(ctx, "never", 2), two.async(ctx, "never", 3)
	<-one.begun
	<-two.begun
	if err := a.kill(ctx, host); err != nil {
		return err
	}
	for _, lost := range []chan error{first, second} {
		if err := <-lost; err == nil || !strings.Contains(err.Error(), "SIGKILL") {
			return fmt.Errorf("a call that was lost: %w", err)
		}
	}
	for _, x := range []*agent{one, two} {
		if _, err := x.again(ctx, "era"); err != nil {
			return fmt.Errorf("after the crash: %w", err)
		}
	}
	for _, x := range []*agent{one, two} {
		one.changed.Store(0)
		two.changed.Store(0)
		if _, err := x.call(ctx, "more", nil); err != nil {
			return fmt.Errorf("after the crash: %w", err)
		}
		if err := news(version, one, two); err != nil {
			return err
		}
	}
	if after, err := a.status(ctx, host); err != nil || after.Life != before.Life+1 {
		return fmt.Errorf("life %d after %d, %w", after.Life, before.Life, err)
	}
	return nil
}

// news waits until both agents know that there are other tools. Without the handshake it waits
// for one of them: the SDK's server sends news once over a connection, whoever listens there.
func news(version string, one, two *agent) error {
	return until("news of the tools", func() bool {
		first, second := one.changed.Load() > 0, two.changed.Load() > 0
		return first && second || version >= newest && (first || second)
	})
}

// both has agents of both generations use a host at the same time.
func (a *agents) both(ctx context.Context, host string) error {
	for _, version := range []string{newest, "2025-11-25", newest} {
		x, err := a.connect(ctx, host, version)
		if err != nil {
			return err
		}
		defer x.Close()
		if got, err := x.call(ctx, "era", nil); err != nil || got != eraOf(version) {
			return fmt.Errorf("era %q of %s, %w", got, version, err)
		}
	}
	return nil
}

// async makes a call. The channel has its error.
func (a *agent) async(ctx context.Context, name string, token any) chan error {
	out := make(chan error, 1)
	go func() {
		_, err := a.call(ctx, name, token)
		out <- err
	}()
	return out
}

func until(what string, is func() bool) error {
	for range 6000 {
		if is() {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("never: %s", what)
}
