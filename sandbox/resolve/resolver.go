package resolve

import (
	"maps"
	"path/filepath"
	"sync"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// Resolver resolves the policies of one supervisor. It knows all folders that their
// confined processes may write, and follows no symbolic link there. It remembers
// where granted paths led. The zero value knows no policy. Its methods are safe for
// concurrent use.
type Resolver struct {
	mu      sync.Mutex
	written map[string]string          // the owner of the policy that makes a folder writable, by folder
	targets map[string]map[string]file // where granted paths led, by owner and path
	images  map[string]string          // the owner of the work folder of an image, by the path of the image
}

// file is the target of a granted path.
type file struct {
	id     sys.FileID
	folder bool
}

// Owned says whose policy is resolved.
type Owned struct {
	// Owner names the policy over all starts, for example the host. A granted path in
	// a folder that a confined process or another user may write must lead to the
	// same folder at each start. "" remembers nothing.
	Owner string
	// Accept makes the current targets of paths the expected ones, because a person
	// asked for the start.
	Accept bool
}

// Announce tells the Resolver which folders a policy makes writable, before the
// policy is resolved for a start.
func (r *Resolver) Announce(owner string, p *policy.Policy) {
	if p == nil {
		return
	}
	one := r.resolver(Owned{Owner: owner})
	one.writable(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addWritten(owner, one.ownWritten)
	if t, err := one.seen.trace(filepath.Clean(p.Work.Path)); err == nil && p.Work.Keep && p.Work.Path != "" {
		r.keep(owner, (&policy.Work{Path: t.real}).Image())
	}
}

// Resolve is like [Policy], with the knowledge of the Resolver.
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
	r.addWritten(o.Owner, one.ownWritten)
	if w := &one.out.Policy.Work; w.Keep {
		r.keep(o.Owner, w.Image())
	}
	if o.Owner != "" {
		if r.targets == nil {
			r.targets = map[string]map[string]file{}
		}
		if r.targets[o.Owner] == nil {
			r.targets[o.Owner] = map[string]file{}
		}
		maps.Copy(r.targets[o.Owner], one.found)
	}
	return one.out, nil
}

// resolver returns a resolver with a copy of the state of r.
func (r *Resolver) resolver(o Owned) *resolver {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &resolver{
		seen: seen{}, owned: o, written: maps.Clone(r.written), images: maps.Clone(r.images), before: maps.Clone(r.targets[o.Owner]),
		ownWritten: map[string]string{}, exposures: map[string]string{}, found: map[string]file{},
	}
}

// addWritten adds the folders that a policy makes writable. The caller must hold mu.
func (r *Resolver) addWritten(owner string, folders map[string]string) {
	if r.written == nil {
		r.written = map[string]string{}
	}
	for folder := range folders {
		if _, ok := innermost(r.written, folder); !ok {
			r.written[folder] = owner
		}
	}
}

// keep remembers an image; a named owner has only one. The caller must hold mu.
func (r *Resolver) keep(owner, image string) {
	if r.images == nil {
		r.images = map[string]string{}
	}
	maps.DeleteFunc(r.images, func(_, other string) bool { return owner != "" && other == owner })
	r.images[image] = owner
}

// innermost returns the entry of path or of its innermost enclosing folder.
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
