package actors

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/internal/reports"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/sandbox"
)

// quickLauncher starts processes that exist at once and end when they are told to.
type quickLauncher struct{ started chan *sandbox.Simulated }

func (l quickLauncher) Start(cmd *sandbox.Command) (*sandbox.Child, error) {
	s := sandbox.NewSimulated(cmd, 1, func(s *sandbox.Simulated, _ os.Signal) { s.Vanish() })
	l.started <- s
	return s.Child, nil
}

func (l quickLauncher) Kill() sandbox.Kill { return sandbox.KillGroup }

// BenchmarkRestart is the way from the exit of a process to the start of the next one,
// without the kernel's part in either.
func BenchmarkRestart(b *testing.B) {
	log := hclog.NewNullLogger()
	crashes, err := reports.Open[record.CrashReport]("", reports.Options{})
	if err != nil {
		b.Fatal(err)
	}
	l := quickLauncher{make(chan *sandbox.Simulated, 1)}
	w := &World{
		System: safeactor.NewSystem(log), Log: log, Journal: record.NewJournal(nil), Reports: crashes, Launcher: l,
		Strategies: Strategies{Root: stops{}, Group: stops{}, Host: toHost{}, Life: stops{}},
	}
	h := HostSpec{Spec: hostspec.Spec{Name: "a", Command: []string{os.Args[0]}}}
	h.Restart.Window, h.Restart.MaxCrashes, h.Restart.Backoff.Healthy = 1, 1<<30, 1
	ended := make(chan struct{})
	root, err := w.System.Root.SpawnNamed(NewRoot(w, RootSpec{Groups: alone(h.WithDefaults()), OnEnd: func() { close(ended) }}), "hostsup")
	if err != nil {
		b.Fatal(err)
	}
	p := <-l.started
	b.ReportAllocs()
	b.ResetTimer()
	var took time.Duration
	for life := uint64(1); life <= uint64(b.N); life++ {
		for {
			if s := w.Ref("a").snapshot(); s.life == life && s.machine.State() == lifecycle.Running {
				break
			}
			runtime.Gosched()
		}
		begun := time.Now()
		p.End(sandbox.Exit{Code: 3, At: begun})
		p.Vanish()
		p = <-l.started
		took += time.Since(begun)
	}
	b.StopTimer()
	b.ReportMetric(float64(took.Nanoseconds())/float64(b.N), "ns/restart")
	safeactor.Tell(w.System.Root, root, &Ask{&Shutdown{}, func(error) {}})
	p.End(sandbox.Exit{})
	<-ended
	if err := w.Close(); err != nil {
		b.Error(err)
	}
}
