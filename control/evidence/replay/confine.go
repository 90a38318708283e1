package replay

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/supervisor"
)

// ErrNotReplayable means that a host cannot be replayed: the error says why.
var ErrNotReplayable = errors.New("it cannot be replayed")

// Confined returns host as a replay runs it. It has no secrets, extensions, hooks and dependencies,
// does not start again, and reaches no network. It may write only its private /tmp, which is its
// HOME and TMPDIR, unless write is true: then also what it may write otherwise. A host without a
// sandbox may read and run the folders of the machine, apart from those of the kernel, /run and /tmp. The error wraps [ErrNotReplayable].
func Confined(host supervisor.HostSpec, write bool) (supervisor.HostSpec, error) {
	switch {
	case host.Protocol == nil:
		return host, fmt.Errorf("%w: host %q has no protocol, so that its report has no messages", ErrNotReplayable, host.Name)
	case host.Extensions != nil:
		return host, fmt.Errorf("%w: host %q has extensions, whose state a report does not hold", ErrNotReplayable, host.Name)
	case host.Prepare != nil:
		return host, fmt.Errorf("%w: host %q is prepared by a program", ErrNotReplayable, host.Name)
	}
	h := supervisor.HostSpec{
		Name: host.Name, Command: slices.Clone(host.Command), Protocol: host.Protocol, Transport: host.Transport, Dir: host.Dir,
		InheritEnv: host.InheritEnv, Init: host.Init, Limits: host.Limits, Liveness: host.Liveness, Stop: host.Stop, Resources: host.Resources, Observe: hostspec.ObserveNever,
	}
	h.Start.Timeout, h.Requests.Timeout = host.Start.Timeout, host.Requests.Timeout
	h.Restart = lifecycle.DefaultRestart()
	h.Restart.Policy = lifecycle.Never
	h.Env = maps.Clone(host.Env)
	if h.Env == nil {
		h.Env = map[string]string{}
	}
	for name := range host.Secrets.Env {
		h.Env[name] = "[redacted]"
	}
	h.Env["HOME"], h.Env["TMPDIR"] = "/tmp", "/tmp"
	p, err := confined(&host, write)
	h.Sandbox = p
	return h, err
}

// folders returns the folders of the machine that a host without a sandbox may read and run. Those
// of the kernel are the sandbox's own.
func folders() (list []string) {
	all, err := os.ReadDir("/")
	if err != nil {
		return nil // the profile has the usual ones
	}
	for _, e := range all {
		if e.IsDir() && !slices.Contains([]string{"proc", "sys", "dev", "tmp", "run", "boot", "lost+found"}, e.Name()) {
			list = append(list, "-/"+e.Name())
		}
	}
	return list
}

// confined returns the policy of a replay.
func confined(host *supervisor.HostSpec, write bool) (*policy.Policy, error) {
	if host.Sandbox == nil {
		dir := host.Dir
		if dir == "" {
			var err error
			if dir, err = os.Getwd(); err != nil {
				return nil, err
			}
		}
		made, _ := policy.Profile("language-server") // the one with the largest /tmp that needs no network
		p := &made
		p.Exec = append(p.Exec, folders()...)
		if filepath.Clean(dir) != "/" {
			p.Exec = append(p.Exec, dir)
		}
		for _, arg := range host.Command { // the private /tmp hides what is in it
			if path, err := exec.LookPath(arg); err == nil && strings.HasPrefix(path, "/tmp/") {
				p.Exec = append(p.Exec, filepath.Dir(path))
			}
		}
		if write {
			p.Write = []string{dir}
		}
		return p, nil
	}
	p := *host.Sandbox
	p.Network, p.Allow, p.Listen, p.Source = policy.NetworkNone, nil, nil, nil
	p.Work.Keep = false
	if !write {
		p.Read, p.Write, p.ReadOnly, p.Absent = slices.Concat(p.Read, p.Write), nil, nil, nil
	}
	return &p, nil
}
