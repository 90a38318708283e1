//go:build unix && (!linux || hostsup_posix)

package sandbox

import (
	"fmt"
	"os"
	ossignal "os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// newLauncher has one kill method on systems without pidfds and cgroups.
func newLauncher(opt Options) (launcher, error) {
	if opt.Kill != "" && opt.Kill != KillGroup {
		return nil, fmt.Errorf("kill %s: %w", opt.Kill, ErrUnsupported)
	}
	b, err := newBase()
	if err != nil {
		return nil, err
	}
	p := &posix{base: b, procs: map[int]*member{}, signals: make(chan os.Signal, 1), ended: make(chan struct{})}
	b.mode, b.back = KillGroup, p
	b.weaker = []string{fmt.Sprintf("cgroup, pidns, keeper: not available in this build (%s, portable)", runtime.GOOS)}
	ossignal.Notify(p.signals, syscall.SIGCHLD)
	go p.reaper()
	return b, nil
}

// posix starts children in their own sessions, and reaps them by number when SIGCHLD
// reports the end of a child. It needs no thread per child.
type posix struct {
	*base
	mu    sync.Mutex
	procs map[int]*member // children that are not reaped yet

	signals chan os.Signal // one token is enough: look checks all children
	ended   chan struct{}
}

// member is one child and the process group that it leads.
type member struct {
	p     *posix
	child *Child

	mu     sync.Mutex
	reaped bool
	// empty means that the group has no members. It is known only when the child is
	// reaped; later the number may be reused and must not be signalled.
	empty bool
}

func (p *posix) start(cmd *Command, files []int) (*Child, error) {
	c := newChild(cmd, time.Now())
	m := &member{p: p, child: c}
	c.tree = m
	p.mu.Lock() // the child must not be reaped before it is in procs
	pid, pidfd, err := p.spawner.start(sys.Process{Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir,
		Files: p.padded(files), Session: true, Terminal: cmd.Terminal})
	if err == nil {
		c.pid = pid
		p.procs[pid] = m
	}
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if pidfd >= 0 { // on Linux, under the build tag
		sys.Close(pidfd)
	}
	go m.run()
	return c, nil
}

func (p *posix) trouble() []string { return nil }

func (p *posix) stop() error {
	ossignal.Stop(p.signals)
	<-p.ended
	return nil
}

func (p *posix) reaper() {
	defer close(p.ended)
	for {
		select {
		case <-p.signals:
			p.look()
		case <-p.quit:
			return
		}
	}
}

// look checks every child of this Launcher, and no other.
func (p *posix) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for pid, m := range p.procs {
		m.mu.Lock()
		e, ended, err := sys.WaitPid(pid)
		if err != nil {
			e, ended = sys.Exit{Code: -1}, true // other code reaped it
		}
		if ended {
			m.reaped = true
			if m.empty = sys.Kill(-pid, 0) == syscall.ESRCH; m.empty {
				m.child.vanish()
			}
			delete(p.procs, pid)
			m.child.end(exitOf(e))
		}
		m.mu.Unlock()
	}
}

// run waits for the end, the end of the group, and the Release.
func (m *member) run() {
	<-m.child.done
	select {
	case <-m.child.gone:
	case <-m.child.hunted:
		m.awaitGroup()
	case <-m.child.released:
		_ = m.kill() // the kill of Release was before the end
		m.awaitGroup()
	}
	<-m.child.released
	m.mu.Lock()
	m.empty = true
	m.mu.Unlock()
	m.p.leave(m.child)
}

// awaitGroup waits until the killed group has no member that this process may signal. No
// event reports that: the end of each member is awaited where the system reports it, with
// a bound, and then the group is looked at again. That is harmless even if the number is
// reused by another group.
func (m *member) awaitGroup() {
	for limit := time.Millisecond; ; limit = min(2*limit, 50*time.Millisecond) {
		if err := sys.Kill(-m.child.pid, 0); err == syscall.ESRCH || err == syscall.EPERM {
			m.child.vanish()
			return
		}
		sys.AwaitMemberExit(m.child.pid, limit, m.p.quit)
		select {
		case <-m.p.quit:
			return
		default:
		}
	}
}

func (m *member) signal(sig os.Signal) error {
	n, err := number(sig)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reaped {
		return os.ErrProcessDone
	}
	return done(sys.Kill(m.child.pid, n))
}

func (m *member) kill() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.empty {
		return nil
	}
	if err := sys.Kill(-m.child.pid, syscall.SIGKILL); err != syscall.ESRCH && err != syscall.EPERM {
		return err
	}
	m.empty = m.reaped
	return nil
}

func (m *member) pids() ([]int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reaped {
		return nil, os.ErrProcessDone
	}
	return withDescendants(m.child.pid), nil
}

func (m *member) account() (int, string, int) { return -1, "", 0 }
