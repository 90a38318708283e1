//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/allow"
	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/netproxy"
	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/sandbox/resolve"
)

// reach connects a command in its own network namespace to what its policy allows: a
// proxy on the host side serves listeners on the confined side.
type reach struct {
	proxy    *netproxy.Proxy
	forwards []allow.Forward // of the second and later listeners
	next     int             // the number of the next listener
}

// network plans what the command may reach through the proxy. The namespace, which has
// no other connection, enforces it; the proxy variables are a convenience.
func (s *starting) network(root *rootPlan) error {
	if s.cmd.Observe && s.r.Policy.Network != policy.NetworkHost && resolve.Access(s.r, resolvFile).Has(policy.Read) {
		// No name server can be reached in any case. A name server on the command's
		// loopback makes the command send queries, in which the observer finds the names.
		root.text(resolvFile, "nameserver 127.0.0.1\n")
	}
	if s.r.Policy.Network != policy.NetworkAllow {
		return nil
	}
	rules, err := allow.Parse(s.r.Policy.Allow)
	if err != nil {
		return s.wrong(err)
	}
	log := s.child.held.denials
	s.reach = &reach{
		proxy:    netproxy.New(rules, func(a netproxy.Attempt) { noteAttempt(log, a) }),
		forwards: rules.Forwards(),
	}
	s.child.held.onFree(func() { _ = s.reach.proxy.Close() })
	at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), allow.Port)
	proxy := at.String()
	listen := func(a netip.AddrPort) {
		s.plan.Listen = append(s.plan.Listen, helper.Address{Name: a.String(), IP: string(a.Addr().AsSlice()), Port: int(a.Port())})
	}
	listen(at)
	direct := []string{"localhost", "127.0.0.1", "::1"}
	hosts := ""
	for _, f := range s.reach.forwards {
		listen(f.Listen)
		if f.Name != "" && !slices.Contains(direct, f.Name) {
			direct = append(direct, f.Name)
			hosts += f.Listen.Addr().String() + " " + f.Name + "\n"
		}
	}
	if hosts != "" {
		root.hosts(hosts)
	}
	s.plan.Env = withProxy(s.plan.Env, proxy, direct)
	return nil
}

// listener serves a listener from the confined side.
func (s *starting) listener(fd int) error {
	if s.reach == nil || s.reach.next >= len(s.plan.Listen) || fd < 0 {
		closeFD(fd)
		return errors.New("an unexpected listener")
	}
	i := s.reach.next
	s.reach.next++
	file := os.NewFile(uintptr(fd), "listener")
	l, err := net.FileListener(file) // duplicates the descriptor
	file.Close()
	if err != nil {
		return fmt.Errorf("listener: %w", err)
	}
	// Proxy.Close ends both, which close l.
	if i == 0 {
		go func() { _ = s.reach.proxy.Serve(l) }()
	} else {
		go func() { _ = s.reach.proxy.Forward(l, s.reach.forwards[i-1].Target) }()
	}
	return nil
}

func closeFD(fd int) {
	if fd >= 0 {
		sys.Close(fd)
	}
}

// withProxy adds the proxy variables that are not set.
func withProxy(env []string, proxy string, direct []string) []string {
	set := func(name string) bool {
		return slices.ContainsFunc(env, func(s string) bool {
			k, _, _ := strings.Cut(s, "=")
			return strings.EqualFold(k, name)
		})
	}
	out := slices.Clone(env)
	for _, v := range [][2]string{
		{"HTTP_PROXY", "http://" + proxy}, {"HTTPS_PROXY", "http://" + proxy}, {"ALL_PROXY", "socks5h://" + proxy},
		{"NO_PROXY", strings.Join(direct, ",")},
	} {
		if !set(v[0]) {
			// Some programs read only one of the two; a CGI client can set HTTP_PROXY in
			// capitals.
			out = append(out, v[0]+"="+v[1], strings.ToLower(v[0])+"="+v[1])
		}
	}
	return out
}

const (
	hostsFile  = "/etc/hosts"
	resolvFile = "/etc/resolv.conf"
)

// hosts adds names before the content of the machine's own file, if that is granted.
func (p *rootPlan) hosts(text string) {
	if !p.made[hostsFile] && !p.within(hostsFile) {
		p.text(hostsFile, text+"127.0.0.1 localhost\n::1 localhost\n")
		return
	}
	old, err := os.ReadFile(hostsFile)
	if err != nil {
		return // nothing to mount it over; the names are still reachable through the proxy
	}
	p.text(hostsFile, text+string(old))
}

// text mounts a file with text at path, over a granted file.
func (p *rootPlan) text(path, text string) {
	if real, err := filepath.EvalSymlinks(path); err == nil && (p.made[real] || p.within(real)) {
		path = real // a link cannot be mounted over
	}
	if !p.made[path] && !p.within(path) {
		p.parents(path)
		p.op(helper.MountOp{Kind: helper.OpText, Path: path, Mode: 0o444, From: text})
		p.made[path] = true
	} else {
		hidden := "/dev/." + filepath.Base(path)
		p.op(helper.MountOp{Kind: helper.OpText, Path: hidden, Mode: 0o444, From: text})
		p.op(helper.MountOp{Kind: helper.OpCover, Path: path, From: strings.TrimPrefix(hidden, "/"), Attrs: onlyData | sys.MountReadOnly, What: "mount " + path})
	}
	p.rules = append(p.rules, helper.LandlockRule{Path: path, Rights: sys.LandlockReadFile})
}

// noteAttempt records an attempt that the proxy refused; failures of allowed attempts
// are not denials.
func noteAttempt(log *denial.Log, a netproxy.Attempt) {
	if a.Allowed || a.Host == "" {
		return
	}
	d := denial.Denial{
		Kind: denial.Connect, Path: allow.HostPort(a.Host, a.Port), Detail: a.Reason, Source: denial.Proxy,
		First: a.Time, Last: a.Time,
	}
	if a.Entry != "" {
		d.Field, d.Grant = "allow", a.Entry
	}
	log.Add(d)
}
