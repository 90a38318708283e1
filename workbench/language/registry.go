package language

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/hostsup/hostsup/workbench"
)

// The bounds of what hosts register.
const (
	maxProviders    = 10_000    // of one life
	maxRegistration = 256 << 10 // bytes of one registration
	maxRegistered   = 16 << 20  // bytes of all registrations of one host
)

// provider is what an extension has registered.
type provider struct {
	host     string
	life     uint64
	handle   int
	kind     string // the register of a feature
	selector selector
	text     string            // the selector as it came
	rest     []json.RawMessage // the arguments of the registration after the handle
	size     int               // of rest, and what selector takes
	time     int               // the later, the greater
}

// resolves reports whether the provider resolves the items of a feature.
func (p *provider) resolves(f feature) bool {
	if f.resolve == "" {
		return false
	}
	var does bool
	return f.resolves == 0 || len(p.rest) >= f.resolves && json.Unmarshal(p.rest[f.resolves-1], &does) == nil && does
}

// scored is a provider with its score for a document.
type scored struct {
	*provider
	on    *workbench.Host
	score int
}

// registry has the providers of all hosts. The service guards it.
type registry struct {
	list []*provider
	time int
}

// add adds a provider, in the place of the one with its handle.
func (r *registry) add(p *provider) error {
	r.remove(func(q *provider) bool { return q.host == p.host && q.life == p.life && q.handle == p.handle })
	p.size = len(p.selector) * filterSize
	for _, raw := range p.rest {
		p.size += len(raw)
	}
	if p.size > maxRegistration {
		return workbench.Invalid("a provider with arguments of at most %d bytes expected, found %d", maxRegistration, p.size)
	}
	count, size := 0, p.size
	for _, q := range r.list {
		if q.host == p.host {
			count++
			size += q.size
		}
	}
	if size > maxRegistered {
		return workbench.Invalid("the providers of host %s have %d bytes together, %d is the limit", p.host, size, maxRegistered)
	}
	if count >= maxProviders {
		return workbench.Invalid("%d providers are registered in host %s, which is the limit", maxProviders, p.host)
	}
	r.time++
	p.time = r.time
	r.list = append(r.list, p)
	return nil
}

// remove removes providers and reports whether there were any.
func (r *registry) remove(which func(*provider) bool) bool {
	before := len(r.list)
	r.list = slices.DeleteFunc(r.list, which)
	return len(r.list) != before
}

// find returns the providers of a kind that fit a document, the best first. Providers without a selector
// fit all. Only hosts that are up have providers.
func (r *registry) find(hosts workbench.Hosts, kind string, d document) []scored {
	var out []scored
	for _, p := range r.list {
		on := hosts[p.host]
		if p.kind != kind || on == nil || on.Life() != p.life || !sees(on, d) {
			continue
		}
		score := scoreAny
		if p.text != "" {
			score = p.selector.score(d)
		}
		if score > 0 && p.selector.exclusive() {
			if d.recursive {
				continue
			}
			return []scored{{p, on, scoreExclusive}}
		}
		if score > 0 {
			out = append(out, scored{p, on, score})
		}
	}
	slices.SortStableFunc(out, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), compareBool(a.selector.builtIn(), b.selector.builtIn()), cmp.Compare(b.time, a.time))
	})
	return out
}

// sees reports whether a host has a document: a confined one has only what it may read.
func sees(h *workbench.Host, d document) bool {
	path, ok := d.uri.FilePath()
	return !ok || workbench.Allowed(h.Guard(), path, workbench.Read) == nil
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// groups splits providers where the score changes.
func groups(list []scored) (out [][]scored) {
	for i, p := range list {
		if i == 0 || p.score != list[i-1].score {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], p)
	}
	return out
}
