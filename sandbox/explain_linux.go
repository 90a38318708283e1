//go:build !hostsup_posix

package sandbox

import (
	"context"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/netproxy"
	"github.com/hostsup/hostsup/sandbox/policy"
)

func explainRun(ctx context.Context, l *Launcher, cmd Command) (needed policy.Policy, denials []denial.Denial, e Exit, err error) {
	cmd.Observe = true
	var s *survey
	if cmd.Policy == nil {
		s = newSurvey()
		cmd.observed = s.note
	}
	c, err := l.Start(&cmd)
	if err != nil {
		return policy.Policy{}, nil, Exit{}, err
	}
	defer c.Release()
	select {
	case <-c.Done():
	case <-ctx.Done():
		err = ctx.Err()
		_ = c.KillTree()
		<-c.Done()
	}
	if s != nil {
		denials = byName(ctx, net.DefaultResolver, s.list())
		return denial.Suggest(denials), denials, c.Exit(), err
	}
	denials = c.Denials()
	return policy.Merge(*cmd.Policy, denial.Suggest(denials)), denials, c.Exit(), err
}

// maxSurvey is how many different things a survey keeps.
const maxSurvey = 1 << 16

// survey collects what an unconfined command touches, as far as it would need
// a grant.
type survey struct {
	log *denial.Log

	mu    sync.Mutex
	known map[attempt][]denial.Denial // what an attempt comes to
	tmp   scratch
	bound map[uint16]bool // ports that the command listens on itself
}

func newSurvey() *survey {
	return &survey{log: denial.NewLog(maxSurvey), known: map[attempt][]denial.Denial{}, tmp: scratch{}, bound: map[uint16]bool{}}
}

func (s *survey) note(d denial.Denial) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := attempt{d.Kind, d.Path, d.Grant}
	list, known := s.known[a]
	if !known {
		list = s.needs(d)
		for _, n := range list {
			// Where a link is granted with its folder, what it points to is not.
			if real, err := filepath.EvalSymlinks(n.Path); filepath.IsAbs(n.Path) && err == nil && real != n.Path && n.Grant == "" {
				n.Path, n.Detail, n.Field, n.Suggest = real, n.Path+" leads there", "", ""
				list = append(list, n)
			}
		}
		// What is not there yet may be there the next time.
		if len(s.known) < maxKnown && (len(list) > 0 || there(d.Path)) {
			s.known[a] = list
		}
	}
	for _, n := range list {
		n.First, n.Last = d.First, d.Last
		s.log.Add(n)
	}
}

func (s *survey) list() []denial.Denial { return s.log.List() }

// needs is what an attempt would need to be granted; nil for nothing, and for
// what fails in any case.
func (s *survey) needs(d denial.Denial) []denial.Denial {
	switch d.Kind {
	case denial.Syscall, denial.Resolve:
		return []denial.Denial{d}
	case denial.Bind:
		if a, err := netip.ParseAddrPort(d.Path); err == nil {
			s.bound[a.Port()] = true
		}
		return nil
	case denial.Connect:
		return s.connects(d)
	}
	if within(d.Path, "/proc") || d.Path == "/" || s.tmp.has(&d, false) {
		return nil
	}
	grantable(&d)
	switch d.Kind {
	case denial.Write:
		target := d.Path
		if d.Grant != "" {
			target = d.Grant
		}
		if syscall.Access(target, accessWrite) != nil {
			return nil
		}
	case denial.Device:
		if ownDevice(d.Path) {
			return nil
		}
	case denial.Exec:
		if !there(d.Path) {
			return nil
		}
		return append([]denial.Denial{d}, interpreters(d.Path)...)
	case denial.Stat:
		if !there(d.Path) {
			return nil
		}
	default:
		if syscall.Access(d.Path, accessRead) != nil {
			return nil
		}
	}
	return []denial.Denial{d}
}

const (
	accessRead  = 4
	accessWrite = 2
)

func (s *survey) connects(d denial.Denial) []denial.Denial {
	if path, ok := strings.CutPrefix(d.Path, "unix /"); ok {
		if !there("/"+path) || s.tmp["/"+path] {
			return nil
		}
		return []denial.Denial{d}
	}
	a, err := netip.ParseAddrPort(d.Path)
	if err != nil {
		return []denial.Denial{d}
	}
	switch {
	case a.Port() == 53: // names are resolved outside
		return nil
	case a.Addr().IsUnspecified() || a.Addr().IsMulticast():
		return nil
	case a.Addr().IsLoopback() && s.bound[a.Port()]:
		return nil
	}
	return []denial.Denial{d}
}

// resolveWait is how long the names that a command has asked for may take to
// be found again.
const resolveWait = 5 * time.Second

// byName has connections allowed by the name that the command has asked for,
// where that name has the address still: addresses change, names do not. Names
// themselves ask for nothing more then.
func byName(ctx context.Context, r netproxy.Resolver, list []denial.Denial) []denial.Denial {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveWait)
	defer cancel()
	names := map[netip.Addr]string{}
	for i := range list {
		d := &list[i]
		if d.Kind != denial.Resolve {
			continue
		}
		d.Field, d.Grant, d.Suggest = "", "", ""
		addrs, err := r.LookupNetIP(ctx, "ip", d.Path+".")
		if err != nil {
			continue
		}
		for _, a := range addrs {
			if a = a.Unmap(); names[a] == "" {
				names[a] = d.Path
			}
		}
	}
	for i := range list {
		d := &list[i]
		a, err := netip.ParseAddrPort(d.Path)
		if d.Kind != denial.Connect || err != nil {
			continue
		}
		if name := names[a.Addr().Unmap()]; name != "" {
			d.Grant = netproxy.HostPort(name, a.Port())
			d.Suggest = "allow = [" + denial.Quote(d.Grant) + "]"
		}
	}
	return list
}
