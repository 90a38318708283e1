//go:build linux

package integration

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/vscode"
	confine "github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench/output"
)

// channelHost is a host of VS Code with the extension that writes into channels.
func channelHost(t testing.TB, version, state string) (supervisor.HostSpec, vscode.Options) {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("testdata", "vscode", "channels"))
	if err != nil {
		t.Fatal(err)
	}
	opt := vscode.Options{Folders: []string{dir}, State: filepath.Join(state, "vscode"), Reconnect: true}
	return vscodeHost(t, version, func(s *supervisor.HostSpec) {
		opt.Root, _ = vscode.Root(s.Command)
		s.Protocol = vscode.New(opt)
	}), opt
}

func channels(t testing.TB, h *supervisor.Host) *output.Channels {
	t.Helper()
	all, err := output.Of(h.Ref())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// channelLines returns what a channel has, with its streams.
func channelLines(t testing.TB, h *supervisor.Host, name string) (out []string) {
	t.Helper()
	c, err := channels(t, h).Channel(name)
	if errors.Is(err, extensions.ErrNoChannel) {
		return nil
	} else if err != nil {
		t.Fatal(err)
	}
	lines, err := c.History(100)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		out = append(out, fmt.Sprintf("%d %v %s", l.Life, l.Stream, l.Text))
	}
	return out
}

// What extensions write into output channels is kept over the lives of their host and of the
// supervisor, and can be followed.
func TestOutputChannels(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		state := t.TempDir()
		spec, _ := channelHost(t, version, state)
		tree := supervisor.Spec{StateDir: state, Groups: []supervisor.GroupSpec{supervisor.Alone(spec)}}
		sup := start(t, tree)
		h := host(t, sup, "vs")
		ready(t, h)
		if err := executes(t, h, nil, "channels.write", "first"); err != nil {
			t.Fatal(err)
		}
		build, server := []string{"1 stdout begin of first"}, []string{`1 stdout [info] info first {"of":"it"}`, "1 stderr [error] error first"}
		has := func(name string, want []string) {
			t.Helper()
			eventually(t, func() bool { return slices.Equal(channelLines(t, h, name), want) }, "the lines of "+name)
		}
		has("Build", build)
		has("acme.channels/Server", server)
		if _, err := channels(t, h).Channel("missing"); !errors.Is(err, extensions.ErrNoChannel) {
			t.Errorf("%v", err)
		}
		list := channels(t, h).List()
		for _, name := range []string{"Build", "Server"} {
			if !slices.Contains(list, extensions.Channel{Name: name, Extension: "acme.channels"}) {
				t.Errorf("%v", list)
			}
		}
		var text string
		if err := executes(t, h, &text, "channels.log"); err != nil || text != "by vscode and node" {
			t.Errorf("%q, %v", text, err)
		}

		// The last words of a life that crashes, to one who follows.
		c, err := channels(t, h).Channel("Build")
		if err != nil {
			t.Fatal(err)
		}
		_ = executes(t, h, nil, "channels.crash", "the end")
		for l := range c.Follow(ctx(t), 1) {
			if l.Text == "the end" {
				break
			}
		}
		eventually(t, func() bool { return h.Life() == 2 }, "the next life")
		ready(t, h)
		if err := executes(t, h, nil, "channels.write", "second"); err != nil {
			t.Fatal(err)
		}
		build = append(build, "1 stdout the end", "2 stdout begin of second")
		has("Build", build)

		if err := sup.Stop(ctx(t)); err != nil {
			t.Fatal(err)
		}
		h = host(t, start(t, tree), "vs")
		has("Build", build)
	})
}

// A confined host sends its channels to the supervisor, which keeps them where the host cannot reach.
func TestConfinedOutputChannels(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		state := t.TempDir()
		h, opt := channelHost(t, version, state)
		p, _ := confine.Profile("node")
		read, write := opt.Grants("vs")
		p.Read, p.Write = append(p.Read, read...), append(p.Write, write...)
		p.Exec, p.Level = append(p.Exec, h.Command[0]), confine.None // as strong as it can be here
		h.Sandbox = &p
		opened(t, filepath.Join(state, "vscode", "vs"))
		sup := start(t, supervisor.Spec{StateDir: filepath.Join(state, "own"), Groups: []supervisor.GroupSpec{supervisor.Alone(h)}})
		vs := host(t, sup, "vs")
		ready(t, vs)
		if err := executes(t, vs, nil, "channels.write", "confined"); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool {
			return slices.Equal(channelLines(t, vs, "Build"), []string{"1 stdout begin of confined"})
		}, "the lines of the channel")
		kept, err := filepath.Glob(filepath.Join(state, "own", "logs", "channels", "vs", "Build-*.log"))
		if err != nil || len(kept) != 1 {
			t.Errorf("%q, %v", kept, err)
		}
		if own, err := filepath.Glob(filepath.Join(state, "vscode", "vs", "logs", "*", "*.log")); err != nil || len(own) != 0 {
			t.Errorf("the host has written %q, %v", own, err)
		}
	})
}
