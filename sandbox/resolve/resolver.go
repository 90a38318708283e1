package resolve

import (
	"maps"
	"path/filepath"
	"sync"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// Resolver resolves the policies of one supervisor. It knows which folders the
// confined processes of all of them may write, where no symbolic link is
// followed, and remembers to which folders granted paths led. The zero value
// knows of no policy. Its methods are safe for concurrent use.
type Resolver struct {
	mu      sync.Mutex
	written map[string]string          // the owner of a policy that lets a folder be written, by folder
	leads   map[string]map[string]file // what granted paths led to, by owner and path
	images  map[string]string          // the owner of the work folder that an image is of, by its path
}

// file is what a granted path leads to.
type file struct {
	id     sys.FileID
	folder bool
}

// Owned says whose policy is resolved.
type Owned struct {
	// Owner names the policy over all starts, such as a host: a granted path that
	// lies where a confined process or another user may write must lead to the
	// same folder at each start. "" remembers nothing.
	Owner string
	// Accept takes what paths lead to now as what they have to lead to from now on:
	// a person has asked for the start.
	Accept bool
}

// Announce tells the Resolver which folders a policy lets be written, before it
// is resolved for a start.
func (r *Resolver) Announce(owner string, p *policy.Policy) {
	if p == nil {
		return
	}
	one := r.resolver(Owned{Owner: owner})
	one.writable(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(owner, one.own)
	if t, err := one.seen.trace(filepath.Clean(p.Work.Path)); err == nil && p.Work.Keep && p.Work.Path != "" {
		r.keep(owner, (&policy.Work{Path: t.real}).Image())
	}
}

// Resolve is [Policy] with what the Resolver knows.
func (r *Resolver) Resolve(o Owned, p *policy.Policy, l policy.Limits) (*policy.Resolved, error) {
	if err := p.Validate(l); err != nil {
		return nil, err
	}
	if p == nil {
		return &policy.Resolved{Policy: policy.Policy{Level: policy.None}, Limits: l, UID: -1, GID: -1}, nil
	}
	one := r.resolver(o)
	if err := one.resolve(p, l); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(o.Owner, one.own)
	if w := &one.out.Policy.Work; w.Keep {
		r.keep(o.Owner, w.Image())
	}
	if o.Owner != "" {
		if r.leads == nil {
			r.leads = map[string]map[string]file{}
		}
		if r.leads[o.Owner] == nil {
			r.leads[o.Owner] = map[string]file{}
		}
		maps.Copy(r.leads[o.Owner], one.found)
	}
	return one.out, nil
}

// resolver returns one that knows what r knows now.
func (r *Resolver) resolver(o Owned) *resolver {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &resolver{
		seen: seen{}, owned: o, written: maps.Clone(r.written), images: maps.Clone(r.images), before: maps.Clone(r.leads[o.Owner]),
		own: map[string]string{}, exposures: map[string]string{}, found: map[string]file{},
	}
}

// note keeps the folders that a policy lets be written. The caller holds mu.
func (r *Resolver) note(owner string, folders map[string]string) {
	if r.written == nil {
		r.written = map[string]string{}
	}
	for folder := range folders {
		if _, ok := innermost(r.written, folder); !ok {
			r.written[folder] = owner
		}
	}
}

// keep remembers an image as the only one of its owner, if that has a name. The
// caller holds mu.
func (r *Resolver) keep(owner, image string) {
	if r.images == nil {
		r.images = map[string]string{}
	}
	maps.DeleteFunc(r.images, func(_, other string) bool { return owner != "" && other == owner })
	r.images[image] = owner
}

// innermost returns the entry of the innermost of the folders that path is or is in.
func innermost(folders map[string]string, path string) (string, bool) {
	for {
		if v, ok := folders[path]; ok {
			return v, true
		}
		up := filepath.Dir(path)
		if up == path {
			return "", false
		}
		path = up
	}
}
