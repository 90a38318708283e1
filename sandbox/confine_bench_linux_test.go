//go:build !hostsup_posix

package sandbox

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// BenchmarkConfinedStart starts /bin/true in several ways alternately, and reports the
// medians and their ratios within this run:
//
//	full/bwrap      fully confined, to bubblewrap with equal settings
//	landlock/plain  by Landlock and the filter alone, to an unconfined start
func BenchmarkConfinedStart(b *testing.B) {
	l := launcherOf(b, "")
	weak, err := NewLauncher(Options{Strongest: policy.Landlock})
	if err != nil {
		b.Fatal(err)
	}
	defer weak.Close()
	full := strict(b)
	landlock := strict(b)
	landlock.Level = policy.Landlock
	limits := policy.Limits{Memory: 64 << 20, Tasks: 64, CPU: 1, Files: 256, Enforce: policy.BestEffort}

	ours := func(l *Launcher, p *policy.Policy, limits policy.Limits) func() {
		return func() {
			c, err := l.Start(&Command{Name: "bench.1", Path: "/bin/true", Args: []string{"true"}, Policy: p, Limits: limits})
			if err != nil {
				b.Fatal(err)
			}
			<-c.Done()
			c.Release()
		}
	}
	type way struct {
		name  string
		start func()
		times []time.Duration
	}
	ways := []*way{
		{name: "exec", start: func() {
			cmd := exec.Command("/bin/true")
			cmd.Env = []string{}
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}},
		{name: "plain", start: ours(l, nil, policy.Limits{})},
		{name: "limits", start: ours(l, nil, limits)},
		{name: "landlock", start: ours(weak, landlock, policy.Limits{})},
		{name: "full", start: ours(l, full, policy.Limits{})},
		{name: "full+limits", start: ours(l, full, limits)},
	}
	if path, err := exec.LookPath("bwrap"); err == nil {
		args := bwrapStrict()
		ways = append(ways, &way{name: "bwrap", start: func() {
			cmd := exec.Command(path, args...)
			cmd.Env = []string{}
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("bwrap: %v: %s", err, out)
			}
		}})
	}
	for b.Loop() {
		for _, w := range ways {
			t := time.Now()
			w.start()
			w.times = append(w.times, time.Since(t))
		}
	}
	median := map[string]float64{}
	for _, w := range ways {
		slices.Sort(w.times)
		median[w.name] = float64(w.times[len(w.times)/2])
		b.ReportMetric(median[w.name]/1e3, w.name+"-µs")
	}
	b.ReportMetric(median["landlock"]/median["plain"], "landlock/plain")
	b.ReportMetric(median["full"]/median["plain"], "full/plain")
	if m := median["bwrap"]; m > 0 {
		b.ReportMetric(median["full"]/m, "full/bwrap")
		b.ReportMetric(median["full+limits"]/m, "full+limits/bwrap")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkOrdinaryStart starts /bin/true confined like a command of an exec server's
// client, and with the same grants as a host, alternately in one run:
//
//	ordinary/host      the cost of an ordinary policy
//	within/ordinary    the cost of a second policy around it
//	ordinary/plain     to an unconfined start
func BenchmarkOrdinaryStart(b *testing.B) {
	confines(b, policy.NoCgroup)
	l := launcherOf(b, "")
	work := b.TempDir()
	wide := policy.Policy{Level: policy.NoCgroup, JIT: true, Write: []string{work}, Read: []string{"-/sys/devices/system", "-/sys/kernel/mm/transparent_hugepage", "-/sys/kernel/mm/hugepages"}}
	entries, err := os.ReadDir("/")
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains([]string{"proc", "sys", "dev", "lost+found"}, e.Name()) {
			wide.Exec = append(wide.Exec, "/"+e.Name())
		}
	}
	ordinary := wide
	ordinary.Ordinary = true
	within := ordinary
	within.Within = &ordinary
	type way struct {
		name   string
		policy *policy.Policy
		times  []time.Duration
	}
	ways := []*way{{name: "plain"}, {name: "host", policy: &wide}, {name: "ordinary", policy: &ordinary}, {name: "within", policy: &within}}
	start := func(p *policy.Policy) {
		c, err := l.Start(&Command{Name: "bench.1", Path: "/bin/true", Args: []string{"true"}, Policy: p})
		if err != nil {
			b.Fatal(err)
		}
		<-c.Done()
		c.Release()
	}
	for b.Loop() {
		for _, w := range ways {
			t := time.Now()
			start(w.policy)
			w.times = append(w.times, time.Since(t))
		}
	}
	median := map[string]float64{}
	for _, w := range ways {
		slices.Sort(w.times)
		median[w.name] = float64(w.times[len(w.times)/2])
		b.ReportMetric(median[w.name]/1e3, w.name+"-µs")
	}
	b.ReportMetric(median["ordinary"]/median["host"], "ordinary/host")
	b.ReportMetric(median["within"]/median["ordinary"], "within/ordinary")
	b.ReportMetric(median["ordinary"]/median["plain"], "ordinary/plain")
	b.ReportMetric(0, "ns/op")
}

// bwrapStrict returns the arguments of bubblewrap that are closest to the profile
// strict.
func bwrapStrict() []string {
	args := []string{"--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--clearenv", "--hostname", "sandbox",
		"--cap-drop", "ALL", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"}
	if os.Geteuid() == 0 {
		args = append(args, "--uid", "62001", "--gid", "62001")
	}
	for _, path := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/libx32", "/lib64",
		"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime"} {
		if to, err := os.Readlink(path); err == nil && path != "/etc/localtime" {
			args = append(args, "--symlink", to, path)
		} else if _, err := os.Stat(path); err == nil {
			args = append(args, "--ro-bind", path, path)
		}
	}
	return append(args, "--remount-ro", "/", "--chdir", "/", "--", "/bin/true")
}

// BenchmarkManyDenied starts /bin/true confined by a policy whose pattern matches
// 20,000 files in 200 folders.
func BenchmarkManyDenied(b *testing.B) {
	confines(b, policy.NoCgroup)
	l := launcherOf(b, "")
	p := strict(b)
	p.Level = policy.NoCgroup
	dir := manyFiles(b, 20_000)
	p.Write, p.Deny = []string{dir}, []string{dir + "/**/*.key"}
	for b.Loop() {
		c, err := l.Start(&Command{Name: "bench.1", Path: "/bin/true", Args: []string{"true"}, Policy: p})
		if err != nil {
			b.Fatal(err)
		}
		<-c.Done()
		c.Release()
	}
}

// manyFiles makes a folder with n files, a hundred in each folder.
func manyFiles(t testing.TB, n int) string {
	t.Helper()
	dir := ground(t)
	for i := range n {
		in := dir + "/" + strconv.Itoa(i/100)
		if i%100 == 0 {
			if err := os.Mkdir(in, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		write(t, in+"/"+strconv.Itoa(i)+".key", "secret")
	}
	return dir
}
