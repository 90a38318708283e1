//go:build !hostsup_posix

package sandbox

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// cycle is one way to start and end a process repeatedly.
type cycle interface {
	start(tb testing.TB)
	killAndReap(tb testing.TB)
}

// bareLoop works like a plain Go program: os/exec, a session, two pipes.
type bareLoop struct {
	cmd *exec.Cmd
	r   [2]*os.File
}

func (l *bareLoop) start(tb testing.TB) {
	cmd := exec.Command("/bin/sleep", "1000")
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, outW := pipe(tb)
	errs, errsW := pipe(tb)
	cmd.Stdout, cmd.Stderr = outW, errsW
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	outW.Close()
	errsW.Close()
	l.cmd, l.r = cmd, [2]*os.File{out, errs}
}

func (l *bareLoop) killAndReap(tb testing.TB) {
	if err := syscall.Kill(l.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		tb.Fatal(err)
	}
	_ = l.cmd.Wait()
	l.r[0].Close()
	l.r[1].Close()
}

// ourLoop does the same through a Launcher, and kills the rest of the tree like a
// supervisor.
type ourLoop struct {
	l     *Launcher
	child *Child
	r     [2]*os.File
}

func (l *ourLoop) start(tb testing.TB) {
	out, outW := pipe(tb)
	errs, errsW := pipe(tb)
	c, err := l.l.Start(&Command{Name: "bench.1", Path: "/bin/sleep", Args: []string{"sleep", "1000"},
		Files: []*os.File{nil, outW, errsW}})
	if err != nil {
		tb.Fatal(err)
	}
	outW.Close()
	errsW.Close()
	l.child, l.r = c, [2]*os.File{out, errs}
}

func (l *ourLoop) killAndReap(tb testing.TB) {
	if err := syscall.Kill(l.child.Pid(), syscall.SIGKILL); err != nil {
		tb.Fatal(err)
	}
	<-l.child.Done()
	l.child.Release() // kills the rest of the tree
	l.r[0].Close()
	l.r[1].Close()
}

func pipe(tb testing.TB) (r, w *os.File) {
	r, w, err := sys.Pipe(0)
	if err != nil {
		tb.Fatal(err)
	}
	return r, w
}

// BenchmarkStartKillReap runs both loops alternately, under the same conditions, and
// reports the medians and their ratio.
func BenchmarkStartKillReap(b *testing.B) {
	for _, kind := range []Kill{KillCgroup, KillPidns, KillKeeper, KillGroup} {
		b.Run(string(kind), func(b *testing.B) {
			l := launcherWith(b, Options{Kill: kind})
			defer l.Close()
			bare, ours := &bareLoop{}, &ourLoop{l: l}
			bare.start(b)
			ours.start(b)
			restart := func(c cycle) time.Duration {
				t := time.Now()
				c.killAndReap(b)
				c.start(b)
				return time.Since(t)
			}
			var tb, to []time.Duration
			for b.Loop() {
				tb = append(tb, restart(bare))
				to = append(to, restart(ours))
			}
			bare.killAndReap(b)
			ours.killAndReap(b)
			slices.Sort(tb)
			slices.Sort(to)
			mb, mo := tb[len(tb)/2], to[len(to)/2]
			b.ReportMetric(float64(mb.Microseconds()), "bare-µs")
			b.ReportMetric(float64(mo.Microseconds()), "ours-µs")
			b.ReportMetric(float64(mo)/float64(mb), "ratio")
			// The tenth percentile: the runs with the least disturbance.
			b.ReportMetric(float64(to[len(to)/10])/float64(tb[len(tb)/10]), "ratio-p10")
		})
	}
}

// BenchmarkManySleepers starts a thousand sleeping processes each way, and ends ours
// by Close. Memory is the increase of this process and its helpers.
func BenchmarkManySleepers(b *testing.B) {
	const n = 1000
	var bare, ours, closed []time.Duration
	var memory int64
	for b.Loop() {
		loops := make([]*bareLoop, n)
		t := time.Now()
		for i := range loops {
			loops[i] = &bareLoop{}
			loops[i].start(b)
		}
		bare = append(bare, time.Since(t))
		for _, l := range loops {
			l.killAndReap(b)
		}

		l, err := NewLauncher(Options{})
		if err != nil {
			b.Fatal(err)
		}
		runtime.GC()
		before, _, _ := sys.ProcStat(os.Getpid())
		mine := make([]*ourLoop, n)
		t = time.Now()
		for i := range mine {
			mine[i] = &ourLoop{l: l}
			mine[i].start(b)
		}
		ours = append(ours, time.Since(t))
		after, _, _ := sys.ProcStat(os.Getpid())
		memory = max(memory, after-before)
		t = time.Now()
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
		closed = append(closed, time.Since(t))
		for _, m := range mine {
			<-m.child.Done()
			m.r[0].Close()
			m.r[1].Close()
		}
	}
	for _, d := range [][]time.Duration{bare, ours, closed} {
		slices.Sort(d)
	}
	mb, mo, mc := bare[len(bare)/2], ours[len(ours)/2], closed[len(closed)/2]
	b.ReportMetric(float64(mb.Milliseconds()), "bare-ms")
	b.ReportMetric(float64(mo.Milliseconds()), "ours-ms")
	b.ReportMetric(float64(mo)/float64(mb), "ratio")
	b.ReportMetric(float64(mc.Milliseconds()), "close-ms")
	b.ReportMetric(float64(memory)/n/1024, "KiB/child")
}
