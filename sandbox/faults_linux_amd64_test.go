//go:build !hostsup_posix

package sandbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// faultLimit bounds a start with a fault, together with a second start after it and the
// end of both.
const faultLimit = 40 * time.Second

// outcome is the result of a start.
type outcome struct {
	result *faultyResult // nil if the supervisor has ended without one
	first  string        // the report of the command
	second string        // likewise, of the start after it
	hung   []string
	left   []string // what it has left on the machine
	stderr string
	tracer *tracer
}

// startWith starts a command in a supervisor of its own, with a fault.
func startWith(f *faultySetting, program string, ft fault) (*outcome, error) {
	runtime.LockOSThread() // only this thread gets the events of its tracees
	defer runtime.UnlockOSThread()
	setting, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	// Standard input, output and error, and the two reports.
	var ours, theirs [5]*os.File
	for i := range ours {
		if ours[i], theirs[i], err = os.Pipe(); err != nil {
			return nil, err
		}
	}
	ours[0], theirs[0] = theirs[0], ours[0]
	fds := make([]uintptr, len(theirs))
	for i, f := range theirs {
		fds[i] = f.Fd()
	}
	attr := &syscall.ProcAttr{Dir: "/", Env: []string{quickExit, roleVar + "=faulty", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR=" + f.Dir + "/tmp"}, Files: fds}
	attr.Sys = &syscall.SysProcAttr{Setsid: true}
	if f.User && os.Geteuid() == 0 {
		attr.Sys.Credential = &syscall.Credential{Uid: faultyUser, Gid: faultyUser}
	}
	root, err := syscall.ForkExec(program, []string{"faulty", string(setting)}, attr)
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		return nil, err
	}
	texts := make([]chan string, len(ours))
	out := bufio.NewReader(ours[1])
	ready, err := out.ReadString('\n')
	for i, from := range []io.Reader{nil, out, ours[2], ours[3], ours[4]} {
		if from == nil {
			continue
		}
		texts[i] = make(chan string, 1)
		go func() {
			b, _ := io.ReadAll(from)
			ours[i].Close()
			texts[i] <- string(b)
		}()
	}
	if err != nil || ready != "ready\n" {
		ours[0].Close()
		return nil, fmt.Errorf("the supervisor does not start: %q, %w\n%s", ready, err, <-texts[2])
	}
	o := &outcome{tracer: newTracer(root, ft, f.direct())}
	var keeper id
	for _, h := range helpersOf(root) {
		keeper, o.tracer.keeper = h, h.pid
	}
	if err := o.tracer.seize(); err != nil {
		_ = syscall.Kill(root, syscall.SIGKILL)
		return nil, err
	}
	_, _ = ours[0].WriteString("go\n")
	o.hung = o.tracer.run(faultLimit)
	ours[0].Close()
	if keeper.pid != 0 && !eventually(func() bool { return !keeper.alive() }) {
		o.left = append(o.left, "keeper "+keeper.String())
	}
	text := <-texts[1]
	o.stderr, o.first, o.second = <-texts[2], plain(f.Dir, <-texts[3]), plain(f.Dir, <-texts[4])
	var res faultyResult
	if json.Unmarshal([]byte(text), &res) == nil {
		o.result = &res
	}
	if f.Kill != "" && ft.kill == bySupervisor {
		// Without a keeper the next supervisor removes the empty cgroups of limits,
		// unless another one is removing them.
		eventually(func() bool {
			for _, c := range controllers {
				if parent, err := sys.OwnCgroup1(c); err == nil {
					sweepStale(parent, "")
				}
			}
			return len(remains(f, root)) == 0
		})
	}
	o.left = append(o.left, remains(f, root)...)
	return o, nil
}

func (f *faultySetting) direct() bool {
	return f.Level == "" || f.Level == policy.Landlock && f.Kill != KillKeeper
}

// remains returns what a supervisor with that number has left on the machine.
func remains(f *faultySetting, pid int) []string {
	var left []string
	for _, parent := range []string{"/sys/fs/cgroup/*", "/sys/fs/cgroup", "/sys/fs/cgroup/*/*"} {
		found, _ := filepath.Glob(fmt.Sprintf("%s/hostsup-%d-*", parent, pid))
		left = append(left, found...)
	}
	if own, err := sys.OwnCgroup(); err == nil {
		found, _ := filepath.Glob(fmt.Sprintf("%s/hostsup-%d-*", own, pid))
		left = append(left, found...)
	}
	if b, err := os.ReadFile("/proc/self/mountinfo"); err == nil && bytes.Contains(b, []byte(f.Dir)) {
		left = append(left, "a mount in "+f.Dir)
	}
	if err := filepath.Walk(f.Dir, func(path string, _ os.FileInfo, err error) error {
		switch strings.TrimPrefix(path, f.Dir) {
		case "", "/read", "/write", "/write/denied", "/write/kept", "/work", "/tmp", "/program":
		default:
			left = append(left, path)
		}
		return err
	}); err != nil {
		left = append(left, err.Error())
	}
	return left
}

// plain removes from a report what differs between two equally confined processes.
func plain(dir, report string) string {
	report = ownNumber.ReplaceAllString(report, "${1}N")
	report = strings.ReplaceAll(ownUser.ReplaceAllString(report, "${1}UID"), dir, "DIR")
	var out strings.Builder
	for line := range strings.Lines(report) {
		if rest, ok := strings.CutPrefix(line, "namespace "); ok && rest[0] != ' ' { // else it is an error
			kind, _, _ := strings.Cut(rest, ":")
			own, _ := os.Readlink("/proc/self/ns/" + kind)
			line = "namespace " + kind + ": its own\n"
			if strings.HasPrefix(rest, own+" ") {
				line = "namespace " + kind + ": the machine's\n"
			}
		}
		out.WriteString(line)
	}
	return out.String()
}

// ownNumber matches the number of the process, or of its supervisor or its life in the
// name of a cgroup.
var ownNumber = regexp.MustCompile(`(NSpid:\t|/hostsup-|/life-)[0-9a-f-]+`)

// ownUser matches a user of the pool; each start may get another one.
var ownUser = regexp.MustCompile(`(\b|=)20000\d{5}\b`)

const faultyUser = 65534

// faultyProgram returns a copy of this test binary that any user can run.
func faultyProgram(t testing.TB) string {
	t.Helper()
	path := ground(t) + "/program"
	b, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = leaktest.WriteProgram(path, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (f *faultySetting) set(t testing.TB) {
	t.Helper()
	f.Dir = ground(t)
	for _, dir := range []string{"/read", "/write/denied", "/write/kept", "/work", "/tmp"} {
		if err := os.MkdirAll(f.Dir+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if !f.User || os.Geteuid() != 0 {
		return
	}
	for _, dir := range []string{"/write", "/write/denied", "/write/kept", "/work", "/tmp"} {
		if err := os.Chown(f.Dir+dir, faultyUser, faultyUser); err != nil {
			t.Fatal(err)
		}
	}
}

// chosenFaults selects faults; "." takes an hour or more.
var chosenFaults = flag.String("faults", "", "try the faults whose description matches this regular expression, not a sample")

// TestFaults makes a system call of a start fail, or kills a process at it, as root and
// as an ordinary user, at every level: the start must be refused, or the confinement
// must be the same as without the fault, and nothing may be left. It tries a sample;
// `make confine-faults` tries all.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	program := faultyProgram(t)
	settings := slices.DeleteFunc(slices.Clone(faultySettings), func(f faultySetting) bool {
		// A nurse with a C library denies its user access to itself, possibly before the
		// supervisor maps its ids: no such program is shipped.
		return !f.User && os.Geteuid() != 0 || f.User && f.Level == policy.NoCgroup && raceEnabled
	})
	if *chosenFaults == "" {
		const some = 4
		order := sourceOrder(t)
		order.Shuffle(len(settings), func(i, j int) { settings[i], settings[j] = settings[j], settings[i] })
		settings = settings[:min(some, len(settings))]
	}
	chosen := regexp.MustCompile(*chosenFaults)
	documented := documentedCalls(t)
	var todo []*faultCase
	for i := range settings {
		f := &settings[i]
		f.set(t)
		usual, err := startWith(f, program, fault{})
		if errors.Is(err, syscall.EPERM) {
			require.Missing(t, "processes cannot be traced: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if errs := usual.wrong(f, usual, fault{}); len(errs) > 0 {
			t.Fatalf("%s, without a fault: %s\n%s", f.Name, strings.Join(errs, "\n"), usual.stderr)
		}
		for _, c := range usual.tracer.calls {
			if at := (callSite{by: c.by, nr: c.nr}); !documented[at] {
				t.Errorf("%s: docs/confinement-start.md does not name the system call %s of %s", f.Name, callName(c.nr), c.by)
				documented[at] = true
			}
		}
		todo = append(todo, f.cases(usual)...)
	}
	if *chosenFaults == "" {
		sample(todo, sourceOrder(t))
	} else {
		todo = slices.DeleteFunc(todo, func(c *faultCase) bool { return !chosen.MatchString(c.String()) })
	}
	tryFaults(t, program, todo)
}

// missingTexts returns what the supervisor reports as missing. A nurse with a C library
// can be faster than the mapping of its ids; then a test of namespaces fails by chance.
func (f *faultySetting) missingTexts(r *faultyResult) []string {
	return slices.DeleteFunc(slices.Clone(r.Told), func(s string) bool {
		return raceEnabled && f.User && strings.Contains(s, "map ids: ")
	})
}

// documentedCalls returns the system calls in docs/confinement-start.md, by kind of
// process: | process | step | `call` `call` | when one fails |.
func documentedCalls(t *testing.T) map[callSite]bool {
	t.Helper()
	b, err := os.ReadFile("../docs/confinement-start.md")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the test does not run where its sources are")
	}
	if err != nil {
		t.Fatal(err)
	}
	named := map[callSite]bool{}
	for line := range strings.Lines(string(b)) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 {
			continue
		}
		for _, name := range strings.Fields(cells[3]) {
			nr, ok := policy.SyscallNumber(strings.Trim(name, "`"))
			if ok {
				named[callSite{by: strings.TrimSpace(cells[1]), nr: nr}] = true
			} else if strings.HasPrefix(name, "`") {
				t.Errorf("docs/confinement-start.md names %s, which is no system call", name)
			}
		}
	}
	return named
}

// tryFaults tries faults in parallel.
func tryFaults(t *testing.T, program string, todo []*faultCase) {
	begin := time.Now()
	var wg sync.WaitGroup
	var next, missed atomic.Int64
	for range 2 * runtime.GOMAXPROCS(0) {
		own := map[string]faultySetting{} // with the folders of this worker
		for _, c := range todo {
			if f, ok := own[c.setting.Name]; !ok {
				f = *c.setting
				f.set(t)
				own[f.Name] = f
			}
		}
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(todo) || *chosenFaults == "" && time.Since(begin) > sampleFor {
					next.Add(-1)
					return
				}
				if i > 0 && i%1000 == 0 {
					t.Logf("%d of %d faults after %v", i, len(todo), time.Since(begin).Round(time.Second))
				}
				c := todo[i]
				f := own[c.setting.Name]
				o, err := startWith(&f, program, c.fault)
				if err != nil {
					t.Errorf("%v: %v", c, err)
					continue
				}
				if !o.tracer.hit {
					missed.Add(1)
				}
				for _, err := range o.wrong(&f, c.usual, c.fault) {
					t.Errorf("%v: %s\n%s", c, err, o.stderr)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d of %d faults in %v; %d calls were not reached", next.Load(), len(todo), time.Since(begin).Round(time.Second), missed.Load())
}

// wrong returns the mistakes of an outcome; usual is that without a fault.
func (o *outcome) wrong(f *faultySetting, usual *outcome, ft fault) (errs []string) {
	bad := func(format string, args ...any) { errs = append(errs, fmt.Sprintf(format, args...)) }
	if len(o.hung) > 0 {
		bad("does not end: %q", o.hung)
	}
	if len(o.left) > 0 {
		bad("left %q", o.left)
	}
	first, want := o.first, usual.first
	// Observed calls fail after the observer has ended, as it does when it cannot wait for
	// a call or take it.
	blind := f.Observe && (ft.kill == bySupervisor || ft.at.by == bySupervisor && (ft.at.nr == unix.SYS_IOCTL || ft.at.nr == unix.SYS_PPOLL))
	if at := failsBlind.FindStringIndex(first); blind && at != nil {
		first = first[:strings.LastIndexByte(first[:at[0]], '\n')+1]
		want = want[:min(len(want), len(first))]
	}
	believed := false // the root file system seems not to map owners; the next start tests it again
	if ft.errno == unix.EINVAL && ft.at.nr == unix.SYS_MOUNT_SETATTR {
		believed = f.View && !f.User && o.result != nil && slices.ContainsFunc(o.result.Told, func(s string) bool { return strings.HasPrefix(s, "mapped owners: the file system") })
		// On a file system that cannot map owners, read-only files keep their owners, and
		// writing fails for another reason first.
		asTheyAre := strings.NewReplacer(",idmapped", "", "only read: "+syscall.EROFS.Error(), "only read: "+syscall.EACCES.Error())
		first, want = asTheyAre.Replace(first), asTheyAre.Replace(want)
	}
	if f.Allow && ft.at == (callSite{by: bySupervisor, nr: unix.SYS_ACCEPT4, nth: ft.at.nth}) && strings.Contains(first, "connect to the machine: "+syscall.ECONNREFUSED.Error()) {
		first, want = unheard(first), unheard(want)
	}
	// After its start a command ends with its nurse, which waits for it.
	ends := ft.kill != "" || ft.at.by == byNurse
	if ends || o.result != nil && o.result.Error != "" { // in the middle of the report, it may be
		first = first[:strings.LastIndexByte(first, '\n')+1]
		want = want[:min(len(want), len(first))]
	}
	if first != "" && optional(first) != optional(want) && !believed {
		bad("the confinement differs from that without a fault: %s", difference(want, first))
	}
	if ft.kill == bySupervisor {
		return errs
	}
	res := o.result
	switch {
	case res == nil:
		bad("the supervisor has ended")
		return errs
	case res.Error != "":
	case first != "":
		// An ordinary user accepts what is weaker, and it is reported.
		missing, asUsual := f.missingTexts(res), f.missingTexts(usual.result)
		if accepted := (f.User || believed) && len(missing) >= len(asUsual); !accepted && !slices.Equal(missing, asUsual) {
			bad("missing is %q, want %q", missing, asUsual)
		}
	case blind && ft.kill == "": // it failed before its report
	case res.Exit == nil || res.Exit.Signal != int(syscall.SIGKILL) || !ends:
		bad("it has started without a report, and ended by %+v", res.Exit)
	}
	if res.Again != "" {
		bad("the next start fails: %s", res.Again)
	} else if optional(o.second) != optional(usual.second) {
		bad("the confinement of the next start differs: %s", difference(usual.second, o.second))
	}
	if res.Close != "" || len(res.Left) > 0 {
		bad("close: %s; left %q", res.Close, res.Left)
	}
	return errs
}

// failsBlind matches the errors of a command, of its loader or of the race detector in
// it, for unanswered calls.
var failsBlind = regexp.MustCompile("error while loading shared libraries|failed with errno 38|" + syscall.ENOSYS.Error())

// optional removes from a report the grants with a dash, which are skipped if they
// cannot be examined.
func optional(report string) string {
	var out strings.Builder
	for line := range strings.Lines(report) {
		if !strings.HasPrefix(line, "/proc/self/mountinfo: /etc/") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// unheard removes from a report whether the proxy was reached: a proxy that cannot
// accept ends.
func unheard(report string) string {
	var out strings.Builder
	for line := range strings.Lines(report) {
		if !strings.HasPrefix(line, "connect to the machine: ") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// difference returns the lines that only one of two reports has.
func difference(a, b string) string {
	var out []string
	in := map[string]int{}
	for line := range strings.Lines(a) {
		in[line]++
	}
	for line := range strings.Lines(b) {
		if in[line]--; in[line] < 0 {
			out = append(out, "+"+strings.TrimSpace(line))
		}
	}
	for line, n := range in {
		if n > 0 {
			out = append(out, "-"+strings.TrimSpace(line))
		}
	}
	return strings.Join(out, "\n\t")
}

var faultySettings = []faultySetting{
	{Name: "full", Level: policy.Full},
	{Name: "full with an allow-list", Level: policy.Full, Allow: true},
	{Name: "full, observed", Level: policy.Full, Observe: true},
	{Name: "full, ordinary", Level: policy.Full, View: true},
	{Name: "landlock", Level: policy.Landlock},
	{Name: "landlock with a reaper", Level: policy.Landlock, Kill: KillKeeper},
	{Name: "landlock with a process group", Level: policy.Landlock, Kill: KillGroup},
	{Name: "limits alone"},
	{Name: "user, no-cgroup", Level: policy.NoCgroup, User: true},
	{Name: "user, no-cgroup, ordinary", Level: policy.NoCgroup, User: true, View: true},
	{Name: "user, landlock with a reaper", Level: policy.Landlock, User: true, Kill: KillKeeper},
	{Name: "user, landlock with a process group", Level: policy.Landlock, User: true, Kill: KillGroup},
}
