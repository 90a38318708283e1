package survive

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/supervisor"
)

// Part ends the processes of a supervisor before this one whose hosts are not in the configuration any
// more, or do not have the feature [Rule] any more, and has hosts that start at their first call taken back
// at once. It is one of supervisor.Spec.Parts.
type Part struct{ on machine }

var _ supervisor.Part = Part{}

// Identity implements [supervisor.Part].
func (Part) Identity() (kind, name string) { return "survivors", "" }

// Validate implements [supervisor.Part].
func (Part) Validate() error { return nil }

// Open implements [supervisor.Part]. It waits until the process of a host has ended that has no Rule any
// more, so that the host does not run twice. The error of a state folder of a newer version wraps [ErrVersion]: no
// process is touched, so that the newer version can take them back.
func (r Part) Open(t supervisor.Tree) (*supervisor.Opened, error) {
	on, dir := machineOf(r.on, t.StateDir)
	if dir == "" {
		return &supervisor.Opened{}, nil
	}
	if t.StateDir != "" {
		if err := Check(t.StateDir); err != nil {
			return nil, err
		}
	}
	p := &part{on: on, dir: filepath.Join(dir, folder), log: t.Log.Named(name)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	survives := map[string]bool{}
	for _, g := range t.Groups {
		for _, h := range g.Hosts {
			survives[h.Name] = ruled(supervisor.FeaturesOf(h))
		}
	}
	hosts, err := on.ReadFolder(p.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		p.log.Warn("processes of a supervisor before this one are not looked for", "error", err)
	}
	var first sync.WaitGroup
	for _, host := range hosts {
		stays, configured := survives[host]
		switch {
		case stays:
		case configured:
			first.Go(func() { p.end(host) })
		default:
			p.ending.Go(func() { p.end(host) })
		}
	}
	first.Wait()
	return &supervisor.Opened{Added: p.added, Close: p.close}, nil
}

// ruled reports whether one of the features of a host is a Rule.
func ruled(features []supervisor.Feature) bool {
	return slices.ContainsFunc(features, func(f supervisor.Feature) bool { _, is := f.(Rule); return is })
}

// part is a Part of one tree.
type part struct {
	on     Machine
	dir    string
	log    hclog.Logger
	ctx    context.Context // ends with the tree: processes are not waited for then
	cancel context.CancelFunc
	ending sync.WaitGroup
}

// end ends the processes of a host and forgets it.
func (p *part) end(host string) {
	dir := filepath.Join(p.dir, host)
	left := lives(p.on, dir)
	for _, l := range left {
		if err := end(p.ctx, p.on, l); err != nil {
			p.log.Error("a process that has outlived its supervisor is not ended", "host", host, "life", l.Life, "error", err)
			return
		}
		p.log.Info("ended: its host is not in the configuration, or does not survive any more", "host", host, "life", l.Life)
	}
	forget(p.on, dir)
	_ = p.on.RemoveFile(dir)   // which is empty, unless another program has put something there
	_ = p.on.RemoveFile(p.dir) // of the last host
}

func (p *part) added(host *supervisor.Host) error {
	ref := host.Ref()
	if h := hostOf(ref); h != nil && ref.Spec().Start.Lazy {
		ref.Background(func() {
			if h.waiting(p.ctx) {
				_ = ref.Raise(p.ctx) // its state tells
			}
		})
	}
	return nil
}

func (p *part) close() error {
	p.cancel()
	p.ending.Wait()
	return nil
}
