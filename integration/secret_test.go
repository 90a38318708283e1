//go:build linux

package integration

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
	"github.com/hostsup/hostsup/intercept/answer"
	"github.com/hostsup/hostsup/intercept/secret"
	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/sandbox"
	confine "github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/sdk"
	"github.com/hostsup/hostsup/supervisor"
)

func init() {
	roles["teller"] = teller
}

// digest is how a host and its test compare values without saying them.
func digest(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:])
}

// teller is a host that says its secrets wherever it can.
func teller() int {
	token := os.Getenv("TOKEN")
	s := sdk.New(sdk.Info{Name: "teller", Version: "1"})
	sdk.Handle(s, "digest", func(_ context.Context, name string) (string, error) { return digest(os.Getenv(name)), nil })
	sdk.Handle(s, "print", func(context.Context, any) (any, error) {
		for _, f := range []*os.File{os.Stdout, os.Stderr} {
			fmt.Fprintf(f, "token is %s, quoted %q, basic %s\n", token, token, base64.StdEncoding.EncodeToString([]byte("me:"+token)))
			fmt.Fprint(f, "in pieces: ")
			for _, c := range []byte(token) {
				if _, err := f.Write([]byte{c}); err != nil {
					return nil, err
				}
			}
			fmt.Fprintln(f, " printed")
		}
		return nil, nil
	})
	sdk.Handle(s, "fail", func(context.Context, any) (any, error) {
		data, err := mpack.Encoding{}.Marshal(map[string]any{"header": []string{"Bearer " + token}})
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("in vain: %w", &codec.Error{
			Name: "Bad" + token, Message: "with token " + token, Stack: "main.login(" + token + ")", Data: data, Cause: &codec.Error{Name: "Inner", Message: token},
		})
	})
	sdk.Handle(s, "say", func(ctx context.Context, _ any) (any, error) {
		return nil, errors.Join(s.Notify(ctx, "said/"+token, map[string]any{"deep": []any{token}}), s.Notify(ctx, "end", nil))
	})
	sdk.Handle(s, "ask", func(ctx context.Context, q question) (string, error) {
		var out any
		if err := s.Call(ctx, q.Method, q.Params, &out); err != nil {
			return "", err
		}
		if text, ok := out.(string); ok {
			token = text
			return digest(text), nil
		}
		return fmt.Sprint(out), nil
	})
	sdk.Handle(s, "call it", func(ctx context.Context, _ any) (any, error) {
		return nil, s.Call(ctx, token, nil, nil)
	})
	sdk.Handle(s, "die", func(ctx context.Context, _ any) (any, error) {
		_ = s.Notify(ctx, token, token)
		fmt.Fprintf(os.Stderr, "panic: cannot log in with %s\n", token)
		fmt.Fprint(os.Stderr, "and last "+token)
		os.Exit(7)
		return nil, nil
	})
	if s.Serve(context.Background()) != nil {
		return 1
	}
	return 0
}

// cabinet is a store of secrets in memory.
type cabinet struct {
	mu  sync.Mutex
	all map[string]string
}

func (c *cabinet) Get(name string) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, ok := c.all[name]; ok {
		return []byte(v), nil
	}
	return nil, secret.ErrNotFound
}

func (c *cabinet) Set(name string, value []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[name] = string(value)
	return nil
}

func (c *cabinet) Delete(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.all[name]; !ok {
		return secret.ErrNotFound
	}
	delete(c.all, name)
	return nil
}

func (c *cabinet) List() ([]string, error)      { return nil, nil }
func (c *cabinet) Where() string                { return "a cabinet" }
func (c *cabinet) Open() (secret.Source, error) { return c, nil }

func tellerHost(name string, change ...func(*supervisor.HostSpec)) supervisor.HostSpec {
	h := demoHost(name, change...)
	h.Env = hostEnv("teller")
	h.Secrets.Env = map[string]secret.Text{
		"TOKEN":  secret.Reference("github"),
		"HEADER": {{Words: "Bearer "}, {Secret: "github"}, {Words: "."}},
	}
	return h
}

// readable is all that anybody could read of a supervisor.
type readable struct {
	mu sync.Mutex
	bytes.Buffer
}

func (r *readable) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Buffer.Write(p)
}

func (r *readable) put(t *testing.T, what string, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	fmt.Fprintf(r, "%s: %s\n", what, text)
}

// clean looks for values in what was recorded and in all files below a folder.
func (r *readable) clean(t *testing.T, dir string, values ...string) {
	t.Helper()
	r.mu.Lock()
	texts := map[string][]byte{"what is told": bytes.Clone(r.Bytes())}
	r.mu.Unlock()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		texts[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(texts) < 3 {
		t.Errorf("only %d files are there to be looked into", len(texts)-1)
	}
	for what, text := range texts {
		for _, v := range values {
			for _, form := range []string{v, base64.StdEncoding.EncodeToString([]byte(v))[:len(v)], base64.StdEncoding.EncodeToString([]byte("me:" + v))[4:len(v)]} {
				if i := bytes.Index(text, []byte(form)); i >= 0 {
					t.Errorf("%s: %q is in it: …%q", what, form, text[max(0, i-100):min(len(text), i+len(form)+40)])
				}
			}
		}
	}
}

// What a host was given is nowhere but with that host, whatever it does with it;
// another value reaches the next life.
func TestSecret(t *testing.T) {
	t.Parallel()
	const one, two, three = `ghp_"16C7e42F292c/6912E7+710c83847`, "glpat-aB3dE6fG9hI2jK5lM8", "set by the host itself 42"
	store := &cabinet{all: map[string]string{"github": one, "other": "never handed out", "asked": three}}
	dir := t.TempDir()
	var told readable
	log := hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: &told, DisableTime: true})
	h := tellerHost("teller", func(h *supervisor.HostSpec) {
		h.Secrets.Owned = []string{"asked", "missing"}
		h.Guard.Permissions = []string{"secrets.read", "secrets.write"}
		h.Answers.Replies = []answer.Reply{{Method: "secrets/*", Result: "not this"}}
	})
	mute := tellerHost("mute", func(h *supervisor.HostSpec) {
		h.Secrets.Owned = []string{"asked"}
		h.Guard.Permissions = []string{"secrets.write"}
	})
	babbler := tellerHost("babbler", func(h *supervisor.HostSpec) {
		h.Start.Lazy, h.Transport, h.Restart.MaxCrashes = true, hostspec.TransportStdio, 1
		h.Command = []string{"/bin/sh", "-c", `echo "logged in with $TOKEN and so on"; read`}
	})
	groups := []supervisor.GroupSpec{supervisor.Alone(h), supervisor.Alone(mute), supervisor.Alone(babbler)}
	if require.All() || sandbox.Probe().Level.AtLeast(confine.NoCgroup) {
		confined := tellerHost("confined", func(h *supervisor.HostSpec) {
			p, _ := confine.Profile("strict")
			p.JIT, p.Exec = true, append(p.Exec, filepath.Dir(self)) // for the race detector, and the program
			h.Sandbox = &p
		})
		groups = append(groups, supervisor.Alone(confined))
	}
	sup := start(t, supervisor.Spec{Groups: groups, StateDir: dir, Secrets: store}, supervisor.WithLogger(log))
	teller, other := host(t, sup, "teller"), host(t, sup, "mute")

	said := make(chan bool)
	follow, stop := context.WithCancel(ctx(t))
	defer stop()
	go func() {
		defer close(said)
		for m := range teller.Messages(follow) {
			told.put(t, "message", m)
			if m.Method == "end" {
				return
			}
		}
	}()

	call := func(h *supervisor.Host, method string, in any) string {
		t.Helper()
		var out any
		err := h.Call(ctx(t), method, in, &out)
		fmt.Fprintf(&told, "%s: %v, %v\n", method, out, err)
		var e *codec.Error
		if errors.As(err, &e) {
			told.put(t, "error", e)
			for ; e != nil; e = e.Cause {
				text, err := h.Encoding().ToJSON(e.Data)
				fmt.Fprintf(&told, "error data %q: %s, %v\n", e.Data, text, err)
			}
		}
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(out)
	}
	ask := func(h *supervisor.Host, method string, params any) string {
		t.Helper()
		return call(h, "ask", question{Method: method, Params: params})
	}
	hosts := slices.DeleteFunc(sup.Hosts(), func(h *supervisor.Host) bool { return h.Name() == "babbler" })
	for _, h := range hosts {
		if got := call(h, "digest", "TOKEN"); got != digest(one) {
			t.Errorf("host %s has another token: %s", h.Name(), got)
		}
		if got := call(h, "digest", "HEADER"); got != digest("Bearer "+one+".") {
			t.Errorf("host %s has another header", h.Name())
		}
		call(h, "print", nil)
	}
	onlyTheirs(t, one, len(hosts))

	// Requests of its own, for what it owns.
	key := func(name string) map[string]any { return map[string]any{"key": name} }
	for _, test := range []struct {
		host         *supervisor.Host
		method       string
		params       any
		want, orElse string
	}{
		{teller, "secrets/get", key("asked"), digest(three), ""},
		{teller, "secrets.get", []any{"asked"}, digest(three), ""},
		{teller, "secrets/get", "asked", digest(three), ""},
		{teller, "secrets/get", key("missing"), "<nil>", ""},
		{teller, "secrets/get", key("github"), "", `SecretDenied: secret "github" is not named in the secrets of host "teller"`},
		{teller, "secrets/get", key("nothing"), "", `SecretDenied: secret "nothing" is not named in the secrets of host "teller"`},
		{teller, "secrets/set", map[string]any{"key": "github", "value": "mine"}, "", "SecretDenied"},
		{teller, "secrets/delete", key("github"), "", "SecretDenied"},
		{teller, "secrets/get", map[string]any{"name": "x"}, "", "InvalidParams"},
		{teller, "secrets/set", key("missing"), "", `expected {"key": a string, "value": a string}`},
		{teller, "secrets/store", map[string]any{"key": "missing", "value": "brand new " + two}, "<nil>", ""},
		{teller, "secrets/get", key("missing"), digest("brand new " + two), ""},
		{teller, "secrets/delete", key("missing"), "true", ""},
		{teller, "secrets/delete", key("missing"), "false", ""},
		{teller, "secrets/set", map[string]any{"key": "missing", "value": "abc"}, "", "it has 3 bytes"},
		{teller, "secrets/other", nil, digest("not this"), ""},
		{other, "secrets/get", key("asked"), "", "PermissionDenied"},
		{other, "secrets/set", map[string]any{"key": "asked", "value": three}, "<nil>", ""},
	} {
		got := ask(test.host, test.method, test.params)
		if test.want != "" && got != test.want || !strings.Contains(got, test.orElse) {
			t.Errorf("%s %v: %s, want %s%s", test.method, test.params, got, test.want, test.orElse)
		}
	}
	if got := ask(teller, "secrets/get", key("asked")); got != digest(three) { // what it says from now on
		t.Error(got)
	}
	for _, method := range []string{"print", "fail", "call it"} {
		call(teller, method, nil)
	}
	for heard := false; !heard; {
		call(teller, "say", nil)
		select {
		case <-said:
			heard = true
		case <-time.After(20 * time.Millisecond): // it has not followed yet
		}
	}

	// It crashes with the other value on its lips; the next life gets a new one.
	if err := store.Set("github", []byte(two)); err != nil {
		t.Fatal(err)
	}
	life := teller.Life()
	call(teller, "die", nil)
	call(host(t, sup, "babbler"), "anything", nil)
	eventually(t, func() bool { return teller.Life() > life && teller.Status().State == lifecycle.Running }, "it does not come back")
	if got := call(teller, "digest", "TOKEN"); got != digest(two) {
		t.Errorf("the next life has another token: %s", got)
	}
	if got := call(other, "digest", "TOKEN"); got != digest(one) {
		t.Errorf("the same life has another token: %s", got)
	}
	call(teller, "print", nil)
	call(teller, "fail", nil)

	tell := func() {
		told.put(t, "status", sup.Status())
		for _, e := range sup.History() {
			told.put(t, "event", e)
		}
		for _, h := range sup.Hosts() {
			told.put(t, "spec", fmt.Sprintf("%+v", h.Spec()))
			told.put(t, "tail", h.Tail(1000))
			lines, err := h.History(1000)
			if err != nil {
				t.Error(err)
			}
			told.put(t, "history", lines)
		}
	}
	var reports []supervisor.CrashReport
	eventually(t, func() bool {
		var err error
		if reports, err = sup.Crashes(""); err != nil {
			t.Error(err)
		}
		return len(reports) >= 2
	}, "the crash reports are not there")
	for _, r := range reports {
		told.put(t, "crash", r)
	}
	tell()
	end(t, sup)
	tell()
	told.clean(t, dir, one, two, three)
	for _, text := range []string{
		"token is [redacted: github]", "in pieces: [redacted: github] printed", "and last [redacted: asked]", "with token [redacted: asked]",
		`"said/[redacted: asked]"`, `{"deep":["[redacted: asked]"]}`, "logged in with [redacted: github]", "Bearer [redacted: github]",
	} {
		if !strings.Contains(told.String(), text) {
			t.Errorf("nobody is told of %q", text)
		}
	}
}

// onlyTheirs looks into the environment and the arguments of all processes.
func onlyTheirs(t *testing.T, value string, hosts int) {
	t.Helper()
	pids, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var with []string
	for _, dir := range pids {
		// What has ended meanwhile has none.
		env, _ := os.ReadFile(dir + "/environ")
		args, _ := os.ReadFile(dir + "/cmdline")
		if bytes.Contains(args, []byte(value)) {
			t.Errorf("%s has it among its arguments: %q", dir, args)
		}
		if bytes.Contains(env, []byte(value)) {
			with = append(with, dir)
			if !bytes.Contains(env, []byte(roleEnv+"=teller")) {
				t.Errorf("%s has it in its environment: %q", dir, args)
			}
		}
	}
	if len(with) != hosts {
		t.Errorf("%d hosts, and processes with it: %v", hosts, with)
	}
}

// A secret that cannot be had is a failed start, with a reason on record, which
// the restart rule counts; when it is there, the host comes.
func TestSecretMissing(t *testing.T) {
	t.Parallel()
	store := &cabinet{all: map[string]string{"other": "somebody's"}}
	sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(tellerHost("teller"))}, Secrets: store})
	h := host(t, sup, "teller")
	until(t, h, lifecycle.Failed)
	st := h.Status()
	const want = `host "teller": variable HEADER: read secret "github" in a cabinet: no such secret`
	if st.CrashesInWindow != st.MaxCrashes || st.LastExit == nil || !strings.Contains(st.LastExit.Reason, want) {
		t.Errorf("%+v", st)
	}
	eventually(t, func() bool {
		list, err := sup.Crashes("teller")
		if err != nil {
			t.Error(err)
		}
		return len(list) == st.MaxCrashes && strings.Contains(list[0].Reason, want)
	}, "the crash reports are not there")
	if err := store.Set("github", []byte("here it is")); err != nil {
		t.Fatal(err)
	}
	if err := h.Start(ctx(t)); err != nil {
		t.Fatal(err)
	}
	var got string
	if err := h.Call(ctx(t), "digest", "TOKEN", &got); err != nil || got != digest("here it is") {
		t.Errorf("%q, %v", got, err)
	}
	err := h.Call(ctx(t), "ask", question{Method: "secrets/get", Params: map[string]any{"key": "other"}}, nil)
	if err == nil || !strings.Contains(err.Error(), `SecretDenied: host "teller" has no secrets of its own`) {
		t.Error(err)
	}
}

// slowCabinet is a store that asks somebody first, who has gone for lunch.
type slowCabinet struct {
	cabinet
	asked  chan bool
	answer chan bool
}

func (c *slowCabinet) Open() (secret.Source, error) { return c, nil }

func (c *slowCabinet) Get(name string) ([]byte, error) {
	c.asked <- true
	<-c.answer
	return c.cabinet.Get(name)
}

// A start that waits for a secret can be stopped, and is over when its time is.
func TestSecretSlow(t *testing.T) {
	t.Parallel()
	store := &slowCabinet{cabinet: cabinet{all: map[string]string{"github": "a value"}}, asked: make(chan bool, 100), answer: make(chan bool)}
	waits := tellerHost("waits", func(h *supervisor.HostSpec) { h.Start.Lazy = true })
	late := tellerHost("late", func(h *supervisor.HostSpec) {
		h.Start = hostspec.StartRule{Lazy: true, Timeout: 50 * time.Millisecond}
		h.Restart.Policy = lifecycle.Never
	})
	sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(waits), supervisor.Alone(late)}, Secrets: store})
	h, l := host(t, sup, "waits"), host(t, sup, "late")
	started := make(chan error, 2)
	go func() { started <- h.Start(ctx(t)) }()
	<-store.asked
	if err := h.Stop(ctx(t)); err != nil {
		t.Errorf("stop: %v", err)
	}
	if err := <-started; err == nil {
		t.Error("it has started")
	}
	if st := h.Status(); st.State != lifecycle.Stopped || st.PID != nil {
		t.Errorf("%+v", st)
	}
	go func() { started <- l.Start(ctx(t)) }()
	if err := <-started; err == nil {
		t.Error("it has started")
	}
	if st := l.Status(); st.LastExit == nil || !strings.Contains(st.LastExit.Reason, "not ready 50ms after its start") {
		t.Errorf("%+v", st)
	}
	close(store.answer)
	if err := h.Start(ctx(t)); err != nil {
		t.Error(err)
	}
}
