//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// records reads the kernel's audit records for all confined children of a Launcher, if
// the machine writes them anyway.
type records struct {
	unread bool // Options.Unrecorded
	once   sync.Once
	audit  *denial.Audit // nil: records cannot be read
}

func (r *records) open() *denial.Audit {
	r.once.Do(func() {
		if os.Geteuid() == 0 && !r.unread {
			r.audit, _ = denial.OpenAudit() // optional: there are other sources
		}
	})
	return r.audit
}

// close must be called after the last child is gone.
func (r *records) close() {
	if r.audit != nil {
		_ = r.audit.Close()
	}
}

// watchRecords adds the kernel's records of a running child to its log.
func (s *starting) watchRecords() {
	if s.cmd.Policy == nil || s.level == policy.None {
		return
	}
	a := s.confine.records.open()
	if a == nil {
		return
	}
	c, log := s.child, s.child.held.denials
	stop := a.Watch(func(pid int) bool {
		if pid == c.pid {
			return true
		}
		pids, _ := c.tree.pids()
		return slices.Contains(pids, pid)
	}, log.Add)
	c.held.onFree(stop)
}

// observe plans the observation of the command. The observer, not the filter, refuses
// the calls that are refused whatever their arguments, because only then they are
// reported.
func (s *starting) observe(r *policy.Resolved, scope policy.SyscallScope) {
	if !s.cmd.Observe {
		return
	}
	calls := denial.WatchedCalls(s.cmd.observed != nil)
	s.plan.NoNewPrivs = true // required for a filter
	if r != nil {
		s.handed = r.RefusedWhole(scope)
		for _, name := range s.handed {
			if n, ok := policy.SyscallNumber(name); ok {
				// First: a refused call is not watched under a condition.
				calls = slices.Insert(calls, 0, sys.WatchedCall{NR: n})
			}
		}
	}
	s.plan.Observer = sys.WatchProgram(calls).Encode()
}

// observer watches the command through the filter's descriptor.
func (s *starting) observer(fd int) error {
	if !s.cmd.Observe || fd < 0 {
		closeFD(fd)
		return errors.New("an unexpected observer")
	}
	h := s.child.held
	sink := h.denials.Add
	if s.cmd.observed != nil {
		sink = s.cmd.observed
	} else if s.cmd.Policy != nil && s.level != policy.None {
		note := newDenialFilter(s.r, s.level, h.denials).note
		sink = func(d denial.Denial) {
			if d.Kind == denial.Write {
				h.tmp.sample()
			}
			note(d)
		}
	}
	o, err := denial.Observe(fd, s.handed, sink)
	if err != nil {
		return err
	}
	h.onFree(func() { _ = o.Close() })
	return nil
}

// watchTmp measures the private /tmp of an observed command that has not ended.
func (s *starting) watchTmp() {
	if !s.cmd.Observe || s.cmd.Policy == nil || !s.level.AtLeast(policy.NoCgroup) || !s.r.PrivateTmp {
		return
	}
	f, err := os.Open("/proc/" + strconv.Itoa(s.child.pid) + "/root/tmp")
	if err != nil {
		return
	}
	h := s.child.held
	h.tmp.open(f)
	h.onFree(h.tmp.close)
}

// noteLimits records the limits that were reached. It must be called once, after the
// command has ended and before its cgroups are removed.
func (h *held) noteLimits(e *Exit) {
	reached := h.bounds.reached()
	if e.Limit != "" {
		reached[e.Limit] = max(reached[e.Limit], 1)
	}
	for _, d := range h.tmp.reached(e.At) {
		h.denials.Add(d)
	}
	for limit, n := range reached {
		h.denials.Add(denial.Denial{
			Kind: denial.Limit, Path: limit, Field: "limits." + limit, Suggest: h.bounds.doubleLine(limit), Source: denial.Cgroup, Count: n, First: e.At, Last: e.At,
		})
	}
}

// doubleLine returns the line of policy that doubles a limit.
func (b *bounds) doubleLine(limit string) string {
	if b == nil {
		return ""
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var value string
	switch limit {
	case "memory":
		value = policy.Quote(policy.FormatSize(2 * b.limits.Memory))
	case "tasks":
		value = strconv.Itoa(2 * b.limits.Tasks)
	case "file_size":
		value = policy.Quote(policy.FormatSize(2 * b.limits.FileSize))
	default:
		return ""
	}
	return "limits { " + limit + " = " + value + " }"
}

// reached returns the kernel's counts of how often each limit was reached.
func (b *bounds) reached() map[string]uint64 {
	out := map[string]uint64{}
	if b == nil {
		return out
	}
	for i := range b.groups {
		g := &b.groups[i]
		var file, key string
		switch {
		case g.controller == "pids":
			file, key = "pids.events", "max"
		case g.controller == "memory" && g.v2:
			file, key = "memory.events", "oom_kill"
		case g.controller == "memory":
			file, key = "memory.oom_control", "oom_kill"
		default:
			continue
		}
		if n, err := sys.CgroupNumber(g.dir, file, key); err == nil && n > 0 {
			out[limitNames[g.controller]] = uint64(n)
		}
	}
	return out
}

// filterSocket receives the observing filter of a command without a helper.
type filterSocket struct {
	ours   *os.File // nil without observation
	theirs int      // -1 without observation
}

func (s *starting) newFilterSocket() (*filterSocket, error) {
	e := &filterSocket{theirs: -1}
	if !s.cmd.Observe {
		return e, nil
	}
	ours, theirs, err := sys.SocketPair()
	if err != nil {
		return nil, helper.Failed("observe", err)
	}
	defer theirs.Close()
	if e.theirs, err = sys.HighFD(int(theirs.Fd()), len(s.files)); err != nil {
		ours.Close()
		return nil, helper.Failed("observe", err)
	}
	e.ours = ours
	return e, nil
}

// receive waits for the filter and starts to observe: otherwise the execve that
// follows would wait forever. The caller that waits for the execve detects a command
// that ends before; if the observation fails, the execve fails.
func (e *filterSocket) receive(s *starting) {
	if e.ours == nil {
		return
	}
	sys.Close(e.theirs)
	e.theirs = -1
	if _, fd, err := sys.RecvFD(e.ours, make([]byte, helper.ReportSize)); err == nil && fd >= 0 {
		_ = s.observer(fd)
	}
}

func (e *filterSocket) close() {
	closeFD(e.theirs)
	if e.ours != nil {
		e.ours.Close()
	}
}
