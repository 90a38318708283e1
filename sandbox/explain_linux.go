//go:build !hostsup_posix

package sandbox

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/sys/procnet"
	"github.com/hostsup/hostsup/sandbox/allow"
	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/netproxy"
	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/sandbox/resolve"
)

func explainRun(ctx context.Context, l *Launcher, cmd Command) (needed policy.Policy, denials []denial.Denial, e Exit, err error) {
	cmd.Observe = true
	var s *survey
	if cmd.Policy == nil {
		s = newSurvey(cmd.Env)
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
		s.mu.Lock()
		s.room(time.Now())
		s.mu.Unlock()
		denials = byName(ctx, net.DefaultResolver.LookupNetIP, s.list())
		return denial.Suggest(denials), denials, c.Exit(), err
	}
	denials = c.Denials()
	more := denial.Suggest(denials)
	if more.Network == policy.NetworkNone || cmd.Policy.Network == policy.NetworkHost {
		more.Network = "" // unchanged
	}
	needed = policy.Merge(*cmd.Policy, more)
	if needed.Network != policy.NetworkAllow {
		needed.Allow = nil
	}
	return needed, denials, c.Exit(), err
}

// maxSurvey bounds the number of different denials of a survey.
const maxSurvey = 1 << 16

// survey collects what an unconfined command accesses and would need a grant for.
type survey struct {
	log *denial.Log

	mu    sync.Mutex
	known map[attempt][]denial.Denial // the result by attempt
	tmp   scratch

	listening []netip.AddrPort // on this machine, before the command started
	measured  time.Time        // when /tmp was last measured
	took      time.Duration    // how long that took
	size      int64            // of a sufficient /tmp; 0: no /tmp is needed
	inodes    int64
}

// newSurvey starts a survey of a command with an environment. A HOME in /tmp counts as
// temporary: a confined command has an empty one there.
func newSurvey(env []string) *survey {
	s := &survey{log: denial.NewLog(maxSurvey), known: map[attempt][]denial.Denial{}, tmp: scratch{}}
	for _, v := range env {
		if home, ok := strings.CutPrefix(v, "HOME="); ok && home != "/tmp" && within(home, "/tmp") {
			s.tmp[home] = true
		}
	}
	s.listening, _ = procnet.AllListening() // without the list, loopback addresses are not granted
	return s
}

func (s *survey) note(d denial.Denial) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.Path = resolve.Unmerged(d.Path)
	if d.Kind == denial.Write && len(s.tmp) > 0 && d.Last.Sub(s.measured) > max(measureEvery, 10*s.took) {
		s.room(d.Last)
	}
	a := attempt{d.Kind, d.Path, d.Grant}
	list, known := s.known[a]
	if !known {
		for _, n := range s.needs(d) {
			n.Path = resolve.Unmerged(n.Path)
			list = append(append(list, n), targets(n)...)
		}
		// A path that is missing now may exist next time.
		if len(s.known) < maxKnown && (len(list) > 0 || exists(d.Path)) {
			s.known[a] = list
		}
	}
	for _, n := range list {
		n.First, n.Last = d.First, d.Last
		s.log.Add(n)
	}
}

// targets returns the targets of a link, link by link: a grant of its folder does not
// include them.
func targets(n denial.Denial) []denial.Denial {
	if !filepath.IsAbs(n.Path) || n.Grant != "" {
		return nil
	}
	real, err := filepath.EvalSymlinks(n.Path)
	if err != nil || real == n.Path {
		return nil
	}
	var list []denial.Denial
	add := func(path string) {
		n.Detail, n.Field, n.Suggest, n.Via = n.Path+" leads there", "", "", n.Path
		n.Path = path
		list = append(list, n)
	}
	for n.Path != real {
		next, err := os.Readlink(n.Path)
		if err != nil { // a parent folder is a link
			add(real)
			break
		}
		if !filepath.IsAbs(next) {
			next = filepath.Join(filepath.Dir(n.Path), next)
		}
		add(resolve.Unmerged(filepath.Clean(next)))
		if len(list) > 40 { // changed meanwhile
			break
		}
	}
	return list
}

func (s *survey) list() []denial.Denial {
	list := s.log.List()
	if s.size > 0 {
		list = append(list, needsRoom("tmp.size", s.size, s.measured), needsRoom("tmp.inodes", s.inodes, s.measured))
	}
	return list
}

// needs returns the grants that an attempt needs; nil if it needs none or fails in any
// case.
func (s *survey) needs(d denial.Denial) []denial.Denial {
	switch d.Kind {
	case denial.Syscall, denial.Resolve:
		return []denial.Denial{d}
	case denial.Bind:
		return nil
	case denial.Connect:
		return s.connects(d)
	}
	if within(d.Path, "/proc") || d.Path == "/" {
		return nil
	}
	if real, err := filepath.EvalSymlinks(d.Path); err == nil && within(real, "/proc") {
		return nil // /etc/mtab: its own files need no grant
	}
	if s.tmp.has(&d, false) {
		if d.Kind != denial.Exec || !exists(d.Path) {
			return nil
		}
		d.Field, d.Suggest, d.Detail = "jit", "jit = true", "it has written this file"
		return []denial.Denial{d}
	}
	grantable(&d)
	if d.Kind == denial.Read && isFolder(d.Path) {
		d.Kind = denial.Stat // a folder on the way to a grant shows the grant
	}
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
		if !exists(d.Path) {
			return nil
		}
		return append([]denial.Denial{d}, interpreters(d.Path)...)
	case denial.Stat:
		if !exists(d.Path) {
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
		if !exists("/"+path) || s.tmp["/"+path] {
			return nil
		}
		return []denial.Denial{d}
	}
	a, err := netip.ParseAddrPort(strings.TrimPrefix(d.Path, "udp "))
	if err != nil {
		return []denial.Denial{d}
	}
	switch {
	case a.Port() == 53: // the proxy resolves names
		return nil
	case a.Addr().IsUnspecified() || a.Addr().IsMulticast():
		return nil
	case a.Addr().IsLoopback() && (strings.HasPrefix(d.Path, "udp ") || !anyListens(s.listening, a)):
		return nil // its own server, or no server
	}
	return []denial.Denial{d}
}

// resolveWait bounds how long the names that a command has queried are looked up again.
const resolveWait = 5 * time.Second

// byName suggests connections by the name that the command has queried, if the name
// still has the address: addresses change, names do not. The denials of such names
// are then removed.
func byName(ctx context.Context, lookup netproxy.LookupFunc, list []denial.Denial) []denial.Denial {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveWait)
	defer cancel()
	names := map[netip.Addr]string{}
	for i := range list {
		d := &list[i]
		if d.Kind != denial.Resolve {
			continue
		}
		d.Field, d.Grant, d.Suggest = "", "", ""
		addrs, err := lookup(ctx, "ip", d.Path+".")
		if err != nil {
			continue
		}
		for _, a := range addrs {
			if a = a.Unmap(); names[a] == "" {
				names[a] = d.Path
			}
		}
	}
	var private []denial.Denial
	tcp := map[string]bool{} // connected names and addresses
	for i := range list {
		d := &list[i]
		a, err := netip.ParseAddrPort(d.Path)
		if d.Kind != denial.Connect || err != nil {
			continue
		}
		tcp[a.String()] = true
		if name := names[a.Addr().Unmap()]; name != "" {
			d.Grant = allow.HostPort(name, a.Port())
			d.Suggest = policy.Line("allow", d.Grant)
			tcp[d.Grant] = true
			if class := allow.Class(a.Addr()); class != "" {
				// The proxy connects a name to such an address only if the list has
				// the address too.
				also := *d
				also.Path, also.Grant, also.Suggest = a.String()+" of "+name, a.String(), policy.Line("allow", a.String())
				also.Detail = fmt.Sprintf("%s resolves to %s, a %s address, which needs an entry of its own", name, a.Addr().Unmap(), class)
				private = append(private, also)
			}
		}
	}
	list = append(list, private...)
	// The C library connects datagram sockets to the addresses of a name, without
	// sending, to choose between them.
	return slices.DeleteFunc(list, func(d denial.Denial) bool {
		addr, udp := strings.CutPrefix(d.Path, "udp ")
		a, err := netip.ParseAddrPort(addr)
		return udp && err == nil && (tcp[a.String()] || tcp[allow.HostPort(names[a.Addr().Unmap()], a.Port())])
	})
}
