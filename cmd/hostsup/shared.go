package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/supervisor"
)

// sharedIdle is how long a shared host, and then its supervisor, goes on without a program.
const sharedIdle = 10 * time.Minute

// startWithin is how long a supervisor of attach --shared may take to listen.
const startWithin = 30 * time.Second

// sharedSpec is a host as attach --shared hands it to the supervisor of its user.
type sharedSpec struct {
	Name      string
	Command   []string
	Protocol  string // as the configuration names it
	Dir       string
	Env       map[string]string
	Sandbox   *policy.Policy
	Observe   hostspec.Observe
	Resources policy.Limits
	Idle      time.Duration // see attach.Rule
}

// sharedVar is the variable that carries a sharedSpec as JSON to control.Client.Add.
const sharedVar = "host"

// spec returns the host for a supervisor.
func (s *sharedSpec) spec() (supervisor.HostSpec, error) {
	p := spoken(s.Protocol)
	if p == nil {
		return supervisor.HostSpec{}, fmt.Errorf("protocol %q is unknown", s.Protocol)
	}
	return supervisor.HostSpec{
		Name: s.Name, Command: s.Command, Protocol: p, Dir: s.Dir, Env: s.Env, Attach: true,
		Start:   hostspec.StartRule{OnTimeout: hostspec.TimeoutWait},
		Sandbox: s.Sandbox, Observe: s.Observe, Resources: s.Resources,
		Features: []supervisor.Feature{attach.Rule{IdleStop: s.Idle}},
	}, nil
}

// sharedSocket returns the control socket of the user's supervisor for attach --shared. It is in
// the folder of the user's default one.
func sharedSocket() string {
	for _, p := range config.SocketPaths(config.SystemEnv(), "", "") {
		if dir := filepath.Dir(p); dir != "/run" { // there root has its service
			return filepath.Join(dir, "hostsup-shared.sock")
		}
	}
	return filepath.Join(os.TempDir(), "hostsup-shared.sock")
}

// sharedName returns the name of a host, which is the same for the same command, given with the
// same flags in the same folder.
func sharedName(flags *pflag.FlagSet, spec *supervisor.HostSpec, protocol string, given []string) (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	parts := []string{here, spec.Command[0], protocol}
	flags.Visit(func(f *pflag.Flag) { // in the order of their names
		if f.Name != "shared" && f.Name != "idle" && f.Name != "protocol" {
			parts = append(parts, "--"+f.Name+"="+f.Value.String())
		}
	})
	text, err := json.Marshal(append(parts, given...))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	name := hostName(given[0])
	return name[:min(len(name), 50)] + "-" + hex.EncodeToString(sum[:4]), nil
}

// attachShared makes the standard streams a client of a command, which the supervisor of the
// user has for all that attach to the same.
func (a *app) attachShared(o *aloneOptions, flags *pflag.FlagSet, given []string) error {
	if err := unsupported("attach", runtime.GOOS); err != nil {
		return err
	}
	if o.idle < time.Second {
		return usagef("--idle %s: a second or more is expected", o.idle)
	}
	spec, err := a.aloneSpec(o, given)
	if err != nil {
		return err
	}
	in, err := a.speak(o, &spec)
	if in == nil || err != nil {
		return err
	}
	a.in = in
	protocol := spec.Protocol.Name()
	if spec.Name, err = sharedName(flags, &spec, protocol, given); err != nil {
		return err
	}
	if spec.Dir == "" {
		if spec.Dir, err = os.Getwd(); err != nil {
			return err
		}
	}
	text, err := json.Marshal(sharedSpec{
		Name: spec.Name, Command: spec.Command, Protocol: protocol, Dir: spec.Dir, Env: spec.Env, Sandbox: spec.Sandbox,
		Observe: spec.Observe, Resources: spec.Resources, Idle: o.idle,
	})
	if err != nil {
		return err
	}
	s := &sharing{socket: sharedSocket(), host: spec.Name, text: string(text), idle: o.idle}
	s.client = control.NewClient(s.socket)
	a.finish = s.client.Close
	r := &relay{host: spec.Name, join: s.join, within: startWithin, restart: relayRestart()}
	if r.first, err = r.attachment(context.Background()); err != nil {
		return err
	}
	defer r.first.Close()
	r.within = reconnectWithin
	return a.attachRelay(r, r.first)
}

// sharing reaches a shared host.
type sharing struct {
	client *control.Client
	socket string
	host   string
	text   string // a sharedSpec
	idle   time.Duration
}

// join joins the host, which is added, and its supervisor started, where they are missing. Where
// another program does the same, one of them succeeds, and both join what it has made.
func (s *sharing) join(ctx context.Context) (*control.Attachment, error) {
	joined, err := s.client.Join(ctx, s.host)
	var failed *control.Error
	if !errors.As(err, &failed) {
		return joined, err
	}
	switch failed.Class {
	case control.NoSupervisor:
		if err := s.start(); err != nil {
			return nil, err
		}
		return nil, failed // it is tried again
	case control.NoSuchHost:
		_, err := s.client.Add(ctx, s.socket, map[string]string{sharedVar: s.text})
		if err != nil && control.ClassOf(err) != control.NameTaken {
			return nil, err
		}
		return s.client.Join(ctx, s.host)
	}
	return nil, err
}

// start starts the supervisor, in a session of its own. It ends at once if there is one.
func (s *sharing) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "HOSTSUP_") {
			env = append(env, v)
		}
	}
	p, err := os.StartProcess(self, []string{self, sharedVerbName, "--socket", s.socket, "--idle", s.idle.String()}, &os.ProcAttr{
		Dir: "/", Env: env, Files: []*os.File{null, null, null}, Sys: ownSession(),
	})
	if err != nil {
		return fmt.Errorf("start the supervisor of attach --shared: %w", err)
	}
	go func() { _, _ = p.Wait() }() // if it ends before this process does
	return nil
}
