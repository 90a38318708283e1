//go:build !hostsup_posix

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/sandbox/resolve"
)

// thisProgram returns the path of this program, which works even if its file was
// replaced.
func thisProgram() (string, error) { return sys.Program, nil }

// library is a file that this program needs to start: its loader, or a shared
// library.
type library struct {
	at   string // the path by which the loader finds it
	from string // the same path without links
}

// libraries caches the libraries of this program. A statically linked program has none.
type libraries struct {
	mu    sync.Mutex
	known bool
	list  []library
}

var thisLibraries libraries

func (l *libraries) get() (list []library, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.known {
		l.list, err = findLibraries()
		l.known = err == nil
	}
	return l.list, err
}

func findLibraries() ([]library, error) {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	program, err := os.Readlink(sys.Program)
	if err != nil {
		return nil, err
	}
	var list []library
	for line := range strings.Lines(string(text)) {
		_, path, found := strings.Cut(line, " /")
		path = "/" + strings.TrimSpace(path)
		if !found || path == program || !strings.Contains(line, "r-xp") {
			continue
		}
		list = append(list, library{path, path})
	}
	if at := interpreter(sys.Program); at != "" {
		if from, err := filepath.EvalSymlinks(at); err == nil {
			list = append(list, library{at, from})
		}
	}
	return list, nil
}

// libraries mounts the libraries of this program that the policy does not grant. It
// must be called after all grants.
func (p *rootPlan) libraries() error {
	list, err := thisLibraries.get()
	for _, l := range list {
		if resolve.Access(p.r, l.at).Has(policy.Exec) || p.made[l.at] || p.within(l.at) {
			continue
		}
		p.parents(l.at)
		p.made[l.at] = true
		p.op(helper.MountOp{Kind: helper.OpFile, Path: l.at, Mode: 0o444})
		p.op(helper.MountOp{Kind: helper.OpBind, Path: l.at, From: l.from, Attrs: nothingSpecial | sys.MountReadOnly, UID: -1, What: "mount " + l.at, Loose: true})
		p.rules = append(p.rules, helper.LandlockRule{Path: l.at, Rights: p.rights(policy.Exec)})
	}
	return err
}
