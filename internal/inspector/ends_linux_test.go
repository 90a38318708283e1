package inspector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/sys/procnet"
)

// endings is a script that ends by itself, in a different way for each signal of ways.
const endings = `
const timer = setInterval(() => {}, 1000);
process.on('SIGTERM', () => process.exit(0));
process.on('SIGHUP', () => clearInterval(timer));
process.on('SIGQUIT', () => { throw new Error('on purpose'); });
console.log('up');
`

var ways = map[string]syscall.Signal{"exit": syscall.SIGTERM, "nothing left": syscall.SIGHUP, "exception": syscall.SIGQUIT}

// uses are the uses of a session.
var uses = map[string]func(context.Context, *Session) error{
	"profile": func(ctx context.Context, s *Session) error {
		_, err := s.Profile(ctx, time.Hour, false)
		return err
	},
	"snapshot": func(ctx context.Context, s *Session) error {
		for {
			if err := s.Snapshot(ctx, io.Discard); err != nil {
				return err
			}
		}
	},
}

// Lines that a process writes.
const (
	attached = "Debugger attached"
	waiting  = "Waiting for the debugger"
)

// hasLine reports whether the process has written a line that begins with text.
func (p *process) hasLine(text string) bool {
	for line := range p.lines(p.t.Context(), 0, false) {
		if strings.HasPrefix(line.Text, text) {
			return true
		}
	}
	return false
}

// A process that ends by itself during a session must not wait for the end of the
// session.
func TestProcessEndsDuringSession(t *testing.T) {
	t.Parallel()
	for use, do := range uses {
		for way, sig := range ways {
			t.Run(use+" "+way, func(t *testing.T) {
				t.Parallel()
				p, ports := node(t, endings, anyPort, quiet), ports(t)
				l := opens(t, ports, p.Target)
				err := l.Session(t.Context(), func(ctx context.Context, s *Session) error {
					if err := p.Signal(sig); err != nil {
						t.Error(err)
					}
					return do(ctx, s)
				})
				if !errors.Is(err, ErrGone) {
					t.Errorf("%v", err)
				}
				releases(t, l)
				<-p.ended
				if p.hasLine(waiting) {
					t.Error("it waited for the debugger")
				}
			})
		}
	}
}

// A session must not wait for a process that already waits for another session: it
// would wait for ever.
func TestSessionBeginsWhenProcessWaits(t *testing.T) {
	t.Parallel()
	for _, ours := range []bool{false, true} {
		for way, sig := range ways {
			t.Run(way, func(t *testing.T) {
				t.Parallel()
				p, ports := node(t, endings, anyPort, quiet), ports(t)
				a := opens(t, ports, p.Target).Address()
				s, err := a.Dial(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				eventually(t, func() bool { return p.hasLine(attached) })
				if err := p.Signal(sig); err != nil {
					t.Fatal(err)
				}
				eventually(t, func() bool { return p.hasLine(waiting) })
				if err := s.prepare(t.Context(), ours); !errors.Is(err, ErrGone) {
					t.Errorf("%v", err)
				}
				s.Close()
				<-p.ended
			})
		}
	}
}

// A session must end as soon as its process is stopped, and no other may begin.
func TestSessionEndsWhenProcessIsBeingEnded(t *testing.T) {
	t.Parallel()
	for use, do := range uses {
		t.Run(use, func(t *testing.T) {
			t.Parallel()
			p, ports := node(t, idles, anyPort, quiet), ports(t)
			being := make(chan struct{})
			p.Await = func(ctx context.Context) {
				select {
				case <-being:
				case <-ctx.Done():
				}
			}
			l := opens(t, ports, p.Target)
			err := l.Session(t.Context(), func(ctx context.Context, s *Session) error {
				close(being)
				return do(ctx, s)
			})
			if !errors.Is(err, ErrGone) {
				t.Errorf("%v", err)
			}
			if err := l.Session(t.Context(), func(context.Context, *Session) error { return nil }); !errors.Is(err, ErrGone) {
				t.Errorf("%v", err)
			}
			releases(t, l)
			if list, err := procnet.Listening(p.PID); err != nil || len(list) != 1 {
				t.Errorf("the port of a process that ends was closed in one more session: %v, %v", list, err)
			}
		})
	}
}

// What a session leaves in a process must go with its port, and stay out of a port that
// another debugger may use.
func TestSessionLeavesNoListener(t *testing.T) {
	t.Parallel()
	const listeners = "process.listenerCount('exit')"
	p, ports := node(t, idles, anyPort, quiet), ports(t)
	counts := func(l *Lease, want int, do func()) {
		t.Helper()
		if err := l.Session(t.Context(), func(ctx context.Context, s *Session) error {
			got := 0
			if err := s.evaluate(ctx, listeners, &got); err != nil || got != want {
				t.Errorf("%d listeners, want %d, %v", got, want, err)
			}
			do()
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		l := opens(t, ports, p.Target)
		counts(l, 1, func() {})
		counts(l, 1, func() {})
		releases(t, l)
	}
	l := opens(t, ports, p.Target)
	counts(l, 1, l.Keep)
	counts(l, 0, func() {})
}

// A process that ends at any time of a session's beginning and end must not wait, and
// the session must not either.
func TestProcessEndsAnyTime(t *testing.T) {
	t.Parallel()
	var work sync.WaitGroup
	for i := range 40 {
		work.Go(func() {
			p, ports := node(t, endings, anyPort, quiet), ports(t)
			l := opens(t, ports, p.Target)
			time.AfterFunc(time.Duration(i)*100*time.Microsecond, func() { _ = p.Signal(syscall.SIGTERM) })
			for l.Session(t.Context(), func(ctx context.Context, s *Session) error {
				_, err := s.Profile(ctx, time.Microsecond, false)
				return err
			}) == nil {
			}
			_ = l.Release() // the process has ended or is ending
			<-p.ended
		})
		if i%4 == 3 {
			work.Wait()
		}
	}
}

// A session stays with a process that prepares for its end late, when its user has
// long left: a connection that ends while node closes its port can crash it.
func TestProcessPreparesLate(t *testing.T) {
	t.Parallel()
	const script = `
process.on('SIGTERM', () => {
	require('child_process').spawnSync('sh', ['-c', 'echo busy >&2; until [ -e "$0" ]; do sleep 0.01; done', process.argv[1]], {stdio: 'inherit'});
	setTimeout(() => process.exit(0), 10);
});
setInterval(() => {}, 1000);
console.log('up');
`
	goes := filepath.Join(t.TempDir(), "goes")
	p, ports := node(t, script, anyPort, quiet, "--", goes), ports(t)
	being := make(chan struct{})
	p.Await = func(ctx context.Context) {
		select {
		case <-being:
		case <-ctx.Done():
		}
	}
	l := opens(t, ports, p.Target)
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return p.hasLine("busy") })
	left := make(chan error, 1)
	go func() { left <- l.Session(t.Context(), func(context.Context, *Session) error { return nil }) }()
	eventually(t, func() bool { return p.hasLine(attached) })
	close(being)
	if err := <-left; !errors.Is(err, ErrGone) {
		t.Errorf("%v", err)
	}
	releases(t, l)
	if n := connections(t, l.Address().Port.Port()); n != 1 {
		t.Errorf("%d connections with a process that has not prepared, want 1", n)
	}
	if err := os.WriteFile(goes, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	if p.state.ExitCode() != 0 || p.hasLine(waiting) {
		t.Errorf("%v; it waited: %t", p.state, p.hasLine(waiting))
	}
}

// connections counts the connections of this machine with a port of it.
func connections(t *testing.T, port uint16) (n int) {
	t.Helper()
	text, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		const established = "01"
		if f := strings.Fields(line); strings.HasSuffix(f[2], fmt.Sprintf(":%04X", port)) && f[3] == established {
			n++
		}
	}
	return n
}
