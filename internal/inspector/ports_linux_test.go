package inspector

import (
	"bufio"
	"context"
	"errors"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/internal/sys/procnet"
)

const patience = 3 * time.Minute

// process is a node that a test inspects.
type process struct {
	Target
	t *testing.T

	mu    sync.Mutex
	texts []Line
	more  chan struct{} // closed at the next line
	ended chan struct{}
	state *os.ProcessState // after ended
	sent  int              // signals
}

// node runs a script, which prints a line when it is ready.
func node(t *testing.T, script string, args ...string) *process {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		require.Missing(t, "%v", err)
	}
	rest := []string{}
	if i := slices.Index(args, "--"); i >= 0 {
		args, rest = args[:i], args[i:]
	}
	cmd := exec.Command(path, slices.Concat(args, []string{"-e", script}, rest)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, more: make(chan struct{}), ended: make(chan struct{})}
	read := make(chan struct{})
	go func() { // ends with the process
		defer close(read)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			p.mu.Lock()
			p.texts = append(p.texts, Line{uint64(len(p.texts) + 1), lines.Text()})
			close(p.more)
			p.more = make(chan struct{})
			p.mu.Unlock()
		}
	}()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	go func() { // likewise
		<-read
		_ = cmd.Wait() // it is killed
		p.state = cmd.ProcessState
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-p.ended
	})
	p.Target = Target{Key: "p", PID: cmd.Process.Pid, Errors: p.lines,
		Signal: func(sig syscall.Signal) error {
			p.mu.Lock()
			p.sent++
			p.mu.Unlock()
			return cmd.Process.Signal(sig)
		},
		Await: func(ctx context.Context) {
			select {
			case <-p.ended:
			case <-ctx.Done():
			}
		}}
	return p
}

func (p *process) lines(ctx context.Context, after uint64, follow bool) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		for {
			p.mu.Lock()
			said, more := slices.Clone(p.texts), p.more
			p.mu.Unlock()
			for _, l := range said {
				if l.Seq > after && !yield(l) {
					return
				}
				after = max(after, l.Seq)
			}
			if !follow {
				return
			}
			select {
			case <-more:
			case <-ctx.Done():
				return
			}
		}
	}
}

// signals returns how many signals the process was sent.
func (p *process) signals() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent
}

// eventually waits until ok returns true.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	poll.Until(t, patience, "the condition", ok)
}

// listens waits until the process listens at n ports.
func (p *process) listens(n int) {
	p.t.Helper()
	eventually(p.t, func() bool {
		list, err := procnet.Listening(p.PID)
		return err == nil && len(list) == n
	})
}

func ports(t *testing.T) *Ports {
	t.Helper()
	p := NewPorts()
	t.Cleanup(p.Close)
	return p
}

func opens(t *testing.T, ports *Ports, target Target) *Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := ports.Open(ctx, target)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func releases(t *testing.T, l *Lease) {
	t.Helper()
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

const (
	idles = `console.log('up'); setInterval(() => {}, 1000)`
	loops = `console.log('up'); for (;;);`
)

// Users of a port share it; it closes with the last of them, and the next user gets
// another one.
func TestPorts(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{"idle": idles, "in a loop": loops} {
		for _, args := range [][]string{{anyPort, quiet}, {anyPort}} {
			t.Run(name+strings.Join(args, " "), func(t *testing.T) {
				t.Parallel()
				p, ports := node(t, script, args...), ports(t)
				for round := range 2 {
					var all [5]*Lease
					var wait sync.WaitGroup
					for i := range all {
						wait.Go(func() {
							l, err := ports.Open(t.Context(), p.Target)
							if err != nil {
								t.Error(err)
								return
							}
							all[i] = l
							if err := l.Session(t.Context(), func(ctx context.Context, s *Session) error {
								_, err := s.Profile(ctx, time.Millisecond, true)
								return err
							}); err != nil {
								t.Error(err)
							}
						})
					}
					wait.Wait()
					if t.Failed() {
						return
					}
					for _, l := range all {
						if l.Address() != all[0].Address() || !l.Opened() {
							t.Errorf("%+v, %v", l.Address(), l.Opened())
						}
						p.listens(1)
						releases(t, l)
						releases(t, l)
					}
					p.listens(0)
					if n := p.signals(); n != round+1 {
						t.Errorf("%d signals", n)
					}
				}
				opens(t, ports, p.Target).Keep()
				l := opens(t, ports, p.Target)
				releases(t, l)
				p.listens(1)
			})
		}
	}
}

// A port that was open before must be found, and must stay open.
func TestPortThatIsOpen(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--inspect=127.0.0.1:0"}, {"--inspect=127.0.0.1:0", quiet}} {
		p, ports := node(t, idles, args...), ports(t)
		l := opens(t, ports, p.Target)
		if l.Opened() || p.signals() != 0 {
			t.Errorf("%v, %d signals", l.Opened(), p.signals())
		}
		releases(t, l)
		p.listens(1)
	}
}

// A user that gives up must leave no port open, even if the process opens it only later.
func TestPortThatComesLate(t *testing.T) {
	t.Parallel()
	// Until the file exists it sleeps outside of JavaScript.
	file := filepath.Join(t.TempDir(), "wake")
	p, ports := node(t, `console.log('up'); require('child_process').execSync('>"$0.in"; until [ -e "$0" ]; do sleep 0.01; done'.replaceAll('$0', process.argv[1])); `+idles, anyPort, quiet, "--", file), ports(t)
	eventually(t, func() bool {
		_, err := os.Stat(file + ".in")
		return err == nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := ports.Open(ctx, p.Target)
		done <- err
	}()
	eventually(t, func() bool { return p.signals() > 0 })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	seen, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	for l := range p.lines(seen, 0, true) {
		if strings.HasPrefix(l.Text, listeningPrefix) {
			break
		}
	}
	p.listens(0)
	releases(t, opens(t, ports, p.Target))
	p.listens(0)
}

// A stopped process must be left alone.
func TestPortOfAStoppedProcess(t *testing.T) {
	t.Parallel()
	p, ports := node(t, idles, anyPort, quiet), ports(t)
	stopped := func() bool {
		st, err := sys.ReadStat(p.PID)
		return err == nil && st.State == 'T'
	}
	if err := syscall.Kill(p.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, stopped)
	var refused *RefusedError
	if _, err := ports.Open(t.Context(), p.Target); !errors.As(err, &refused) || !strings.Contains(err.Error(), "is stopped") || p.signals() != 0 {
		t.Errorf("%v, %d signals", err, p.signals())
	}
	if err := syscall.Kill(p.PID, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	// The kernel continues the process some time after SIGCONT was sent.
	eventually(t, func() bool {
		l, err := ports.Open(t.Context(), p.Target)
		if errors.As(err, &refused) && strings.Contains(err.Error(), "is stopped") {
			return false
		}
		if err != nil {
			t.Fatal(err)
		}
		releases(t, l)
		return true
	})
	p.listens(0)
}

// A process that ends takes its port along, and waiting users get an error.
func TestPortOfAProcessThatEnds(t *testing.T) {
	t.Parallel()
	p, ports := node(t, idles, anyPort, quiet), ports(t)
	l := opens(t, ports, p.Target)
	if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	if err := l.Session(t.Context(), func(context.Context, *Session) error { return nil }); err == nil {
		t.Error("a session with an ended process began")
	}
	releases(t, l)
	var refused *RefusedError
	if _, err := ports.Open(t.Context(), p.Target); !errors.As(err, &refused) {
		t.Errorf("%v", err)
	}
	ports.Close()
	if _, err := ports.Open(t.Context(), p.Target); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
}

// A port that is taken must be reported with node's own message.
func TestPortThatIsTaken(t *testing.T) {
	t.Parallel()
	first, ports := node(t, idles, "--inspect=127.0.0.1:0"), ports(t)
	port := opens(t, ports, first.Target).Address().Port.String()
	second := node(t, idles, "--inspect-port="+port)
	second.Key = "second"
	var refused *RefusedError
	if _, err := ports.Open(t.Context(), second.Target); !errors.As(err, &refused) || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("%v", err)
	}
}

// A port that a process announces but does not have must not be accepted.
func TestPortOfSomebodyElse(t *testing.T) {
	t.Parallel()
	first, ports := node(t, idles, "--inspect=127.0.0.1:0", quiet), ports(t)
	a := opens(t, ports, first.Target).Address()
	liar := node(t, `console.error('Debugger listening on `+a.URL()+`'); `+idles, anyPort, quiet)
	liar.Key = "liar"
	eventually(t, func() bool { return len(slices.Collect(liar.lines(t.Context(), 0, false))) > 0 })
	l := opens(t, ports, liar.Target)
	if l.Address() == a || l.Address().PID != liar.PID {
		t.Errorf("%+v", l.Address())
	}
}

func TestAnnounced(t *testing.T) {
	t.Parallel()
	const id = "1f9e01d5-f514-4828-af02-58a8aceb2d44"
	for line, want := range map[string]uint16{
		"Debugger listening on ws://127.0.0.1:42279/" + id: 42279, "Debugger listening on ws://localhost:9/" + id + "\r": 9,
		"Debugger listening on ws://[::1]:9229/" + id: 9229, "Debugger ending on ws://127.0.0.1:42279/" + id: 0,
		"Debugger listening on ws://127.0.0.1:99999/" + id: 0, "Debugger listening on ws://127.0.0.1/" + id: 0,
		"Debugger listening on ws://127.0.0.1:1/../../" + id: 0, "Debugger listening on ws://127.0.0.1:1/": 0, "": 0,
	} {
		port, got, ok := announced(line)
		if ok != (want != 0) || ok && (port != want || got != id) {
			t.Errorf("%q: %d, %q, %v", line, port, got, ok)
		}
	}
}
