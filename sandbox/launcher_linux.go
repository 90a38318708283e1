//go:build !hostsup_posix

package sandbox

import (
	"fmt"
	"os"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/sys"
)

// newLauncher selects the requested kill method, or the strongest that works.
func newLauncher(opt Options) (launcher, error) {
	if err := sys.HavePidfd(); err != nil {
		return nil, fmt.Errorf("waiting on pidfds (Linux 5.4): %w", ErrUnsupported)
	}
	b, err := newBase()
	if err != nil {
		return nil, err
	}
	b.confine.strongest, b.confine.users.Range, b.confine.records.unread = opt.Strongest, opt.Users, opt.Unrecorded
	known := false
	for _, kind := range []Kill{KillCgroup, KillPidns, KillKeeper, KillGroup} {
		if opt.Kill != "" && kind != opt.Kill {
			if !known {
				b.weaker = append(b.weaker, fmt.Sprintf("%s: %s was requested", kind, opt.Kill))
			}
			continue
		}
		known = true
		back, err := b.backend(kind)
		if err == nil {
			b.mode, b.back = kind, back
			if c, ok := back.(*cgroups); ok {
				b.confine.limiter.tell = c.keeper.remove
			}
			return b, nil
		}
		if opt.Kill != "" {
			b.free()
			return nil, fmt.Errorf("kill %s: %w: %w", kind, ErrUnsupported, err)
		}
		b.weaker = append(b.weaker, fmt.Sprintf("%s: %v", kind, err))
	}
	b.free()
	return nil, fmt.Errorf("unknown kill method %q: %w", opt.Kill, ErrUnsupported)
}

// backend sets up one kill method. The error says why it does not work.
func (b *base) backend(kind Kill) (backend, error) {
	switch kind {
	case KillCgroup:
		c, err := newCgroups(b)
		if err != nil {
			return nil, err
		}
		return c, nil
	case KillPidns:
		n := &nursing{base: b, role: helper.RoleInit, place: sys.Process{PidNS: true, MountNS: true}}
		if os.Geteuid() != 0 {
			n.place.UserNS = true
			n.place.Ambient = []uintptr{sys.CapSysAdmin}
		}
		return n, b.tryHelper(n.place)
	case KillKeeper:
		n := &nursing{base: b, role: helper.RoleReaper}
		return n, b.tryHelper(n.place)
	default:
		return &group{b}, nil
	}
}
