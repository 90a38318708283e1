//go:build !hostsup_posix

package selftest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// leakVar is in the environment of the calling process while Run works.
const leakVar = "HOSTSUP_SELFTEST_LEAK"

// suite is what all attempts of one Run share.
type suite struct {
	dir      string // for stages; everybody may reach it
	tools    string // granted for running
	program  string // a copy of this program in tools
	leak     string // the value of leakVar
	parallel int
	ordinary bool   // policies have Ordinary
	within   bool   // they are around one that grants everything
	state    string // of this process, before any start
	stages   atomic.Int64
}

// running keeps Run from being called twice at once: the environment is one.
var running sync.Mutex

// run is Run; tools is a folder of programs that somebody else has set up, or empty.
func run(ctx context.Context, opt Options, tools string) (rep *Report, err error) {
	running.Lock()
	defer running.Unlock()
	start := time.Now()
	su, err := newSuite(opt, tools)
	if err != nil {
		return nil, err
	}
	defer su.close()
	if rep, err = su.run(ctx, opt); err != nil {
		return nil, err
	}
	rep.Seconds = time.Since(start).Seconds()
	if opt.UID > 0 && os.Getuid() == 0 {
		err = tried(func() error { return rep.add(su.asUser(ctx, opt)) })
		if err != nil {
			return nil, fmt.Errorf("as user %d: %w", opt.UID, err)
		}
	}
	return rep, nil
}

func newSuite(opt Options, tools string) (*suite, error) {
	dir, err := os.MkdirTemp(opt.Dir, "hst-")
	if err != nil {
		return nil, err
	}
	su := &suite{
		dir: dir, tools: tools, leak: "leak-" + random(), parallel: opt.Parallel,
		ordinary: opt.Ordinary, within: opt.Within, state: ownState(),
	}
	if su.parallel <= 0 {
		su.parallel = 2 * min(runtime.GOMAXPROCS(0), 4)
	}
	err = tried(func() error {
		check(os.Chmod(dir, 0o755))
		if tools == "" {
			su.tools = filepath.Join(dir, toolsDir)
			su.setUp()
		}
		su.program = filepath.Join(su.tools, partName)
		return os.Setenv(leakVar, su.leak)
	})
	if err != nil {
		su.close()
		return nil, err
	}
	return su, nil
}

// setUp makes the folder of tools, by root with programs that give rights to who runs them: harmless ones, which only
// say what rights they have.
func (su *suite) setUp() {
	check(os.Mkdir(su.tools, 0o755))
	check(os.Chmod(su.tools, 0o755))
	check(copyFile(filepath.Join(su.tools, partName), "/proc/self/exe", 0o755))
	if os.Getuid() != 0 {
		return
	}
	for name, from := range map[string]string{"setuid-id": "id", "caps-grep": "grep"} {
		if path, err := exec.LookPath(from); err == nil { // what needs it says so
			check(copyFile(filepath.Join(su.tools, name), path, 0o755))
		}
	}
	_ = os.Chmod(filepath.Join(su.tools, "setuid-id"), 0o4755|os.ModeSetuid)
	_ = unix.Setxattr(filepath.Join(su.tools, "caps-grep"), "security.capability", chownCapability, 0)
}

func (su *suite) close() {
	_ = os.Unsetenv(leakVar)
	_ = os.RemoveAll(su.dir)
}

func copyFile(to, from string, mode os.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Chmod(mode), out.Close())
}

// run makes the columns of the user that this process runs as.
func (su *suite) run(ctx context.Context, opt Options) (*Report, error) {
	levels := opt.Levels
	if len(levels) == 0 {
		levels = defaultLevels(sandbox.Probe().Level, opt.Ordinary)
	}
	tries, must := chosen(attempts(), opt), chosen(work(), opt)
	list := slices.Concat(tries, must)
	if len(list) == 0 {
		return nil, fmt.Errorf("no attempt is called %s", strings.Join(opt.Only, " or "))
	}
	var count atomic.Int64
	done := func() {
		n := count.Add(1)
		if opt.Progress != nil {
			opt.Progress(int(n), len(list)*(len(levels)+1))
		}
	}
	controls := make([]finding, len(list))
	err := su.each(ctx, list, func(ctx context.Context, i int) (err error) {
		defer done()
		controls[i], err = su.one(ctx, list[i], &box{})
		if err == nil && controls[i].unstarted {
			err = errors.New(controls[i].evidence)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	rep := &Report{Kernel: kernel(), Rows: rows(tries), Work: rows(must)}
	for _, level := range levels {
		col, cells, err := su.column(ctx, level, list, controls, done)
		if err != nil {
			return nil, fmt.Errorf("level %s: %w", level, err)
		}
		rep.Columns = append(rep.Columns, col)
		for i, c := range cells {
			if i < len(tries) {
				rep.Rows[i].Cells = append(rep.Rows[i].Cells, c)
				continue
			}
			switch c.Verdict {
			case Held, Vacuous:
				c.Verdict = Broken // it does not do what it must
			case Escaped, Gap:
				c.Verdict = Works
			}
			row := &rep.Work[i-len(tries)]
			row.Cells = append(row.Cells, c)
		}
	}
	return rep, nil
}

// column runs all attempts at a level.
func (su *suite) column(
	ctx context.Context, level policy.Level, list []*attempt, controls []finding, done func(),
) (Column, []Cell, error) {
	col := Column{User: "user", UID: os.Getuid(), Level: level}
	if col.UID == 0 {
		col.User = "root"
	}
	l, err := sandbox.NewLauncher(sandbox.Options{Strongest: level})
	if err != nil {
		return col, nil, err
	}
	if m := l.Machine(); m.Level != level {
		l.Close()
		return col, nil, fmt.Errorf("the strongest that works here is %s", m.Level)
	}
	b := &box{level: level, launcher: l}
	cells := make([]Cell, len(list))
	err = su.each(ctx, list, func(ctx context.Context, i int) (err error) {
		defer done()
		cells[i], err = su.cell(ctx, list[i], b, controls[i])
		return err
	})
	col.Missing = b.lacks()
	return col, cells, errors.Join(err, l.Close())
}

// defaultLevels are the strongest and the one without namespaces, where ordinary
// policies are like all others.
func defaultLevels(strongest policy.Level, ordinary bool) []policy.Level {
	if strongest.AtLeast(policy.NoCgroup) && !ordinary {
		return []policy.Level{strongest, policy.Landlock}
	}
	return []policy.Level{strongest}
}

func chosen(list []*attempt, opt Options) []*attempt {
	var out []*attempt
	for _, at := range list {
		take := len(opt.Only) == 0 || slices.ContainsFunc(opt.Only, func(o string) bool { return strings.Contains(at.id(), o) })
		if take && !(opt.Ordinary && at.shown) {
			out = append(out, at)
		}
	}
	return out
}

func rows(list []*attempt) []Row {
	out := make([]Row, len(list))
	for i, at := range list {
		out[i] = Row{Class: at.class, Name: at.name, About: at.about, Witness: at.witness()}
	}
	return out
}

func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:]) + " " + unix.ByteSliceToString(u.Machine[:])
}

// asUser runs the suite once more as an ordinary user, in a process of its own. It ends its caller as check does.
func (su *suite) asUser(ctx context.Context, opt Options) *Report {
	dir := filepath.Join(su.dir, "u")
	check(os.Mkdir(dir, 0o755))
	check(os.Chown(dir, opt.UID, opt.UID))
	theirs := Options{Only: opt.Only, Ordinary: opt.Ordinary, Within: opt.Within, Dir: dir, Parallel: su.parallel}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, su.program)
	cmd.Args = []string{partName, "suite", string(must(json.Marshal(order{theirs, su.tools})))}
	cmd.Env = []string{partVar + "=suite", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir}
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	id := uint32(opt.UID)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: id, Gid: id}}
	if err := cmd.Run(); err != nil {
		check(fmt.Errorf("%w: %s", err, oneLine(errs.String())))
	}
	rep := &Report{}
	check(json.Unmarshal(out.Bytes(), rep))
	return rep
}

// order is what the part "suite" is told.
type order struct {
	Options Options
	Tools   string // programs that root has set up
}

// partSuite is Run for the user that this process runs as; the report goes to
// stdout.
func partSuite(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	var o order
	if !told(args, &o) {
		return 2
	}
	rep, err := run(ctx, o.Options, o.Tools)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(rep)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
