//go:build !hostsup_posix

package sandbox

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// A supervisor that tests kill: this binary starts trees and prints every process in
// them.
func init() {
	roles["supervisor"] = func(args []string) int {
		kind, script := Kill(args[0]), args[1]
		n, _ := strconv.Atoi(args[2])
		die := func(err error) int {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		level := policy.Level(args[3]) // "": not confined
		l, err := NewLauncher(Options{Kill: kind, Strongest: level})
		if err != nil {
			return die(err)
		}
		for i := range n {
			r, w, err := os.Pipe()
			if err != nil {
				return die(err)
			}
			cmd := shell(script, "2")
			cmd.Name = fmt.Sprintf("tree.%d", i)
			cmd.Files = []*os.File{nil, w}
			if level != "" {
				p, _ := policy.Profile("strict")
				p.Level = level
				cmd.Policy, cmd.Limits = &p, policy.Limits{Tasks: 100, Enforce: policy.BestEffort}
			}
			c, err := l.Start(cmd)
			w.Close()
			if err != nil {
				return die(err)
			}
			s := bufio.NewScanner(r)
			for range 3 {
				s.Scan()
			}
			pids, err := c.Pids()
			if err != nil {
				return die(err)
			}
			for _, pid := range pids {
				if i, ok := idOf(pid); ok {
					fmt.Println("tree", i.pid, i.start)
				}
			}
		}
		fmt.Println("ready")
		// Each line on stdin is answered with the current processes.
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			for _, i := range helpersOf(os.Getpid()) {
				fmt.Println("helper", i.pid, i.start)
			}
			for _, m := range l.Missing() {
				fmt.Println("missing", m)
			}
			fmt.Println("ready")
		}
		return 0
	}
}

// helpersOf returns the helper processes below pid.
func helpersOf(pid int) []id {
	var found []id
	kids, _ := sys.Children(pid)
	for _, k := range kids {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", k))
		if i, ok := idOf(k); ok && bytes.HasPrefix(b, []byte(helper.Name+"\x00")) {
			found = append(found, i)
		}
	}
	return found
}

// victim is the test's handle of such a supervisor.
type victim struct {
	t       *testing.T
	cmd     *exec.Cmd
	in      io.Writer
	out     *bufio.Scanner
	tree    []id
	helpers []id
	missing []string
	killed  time.Time
}

func newVictim(t *testing.T, kind Kill, script string, n int) *victim {
	t.Helper()
	return newConfinedVictim(t, kind, "", script, n)
}

func newConfinedVictim(t *testing.T, kind Kill, level policy.Level, script string, n int) *victim {
	t.Helper()
	launcherOf(t, kind).Close() // skips if it does not work
	cmd := exec.Command("/proc/self/exe", string(kind), script, strconv.Itoa(n), string(level))
	cmd.Env = []string{quickExit, roleVar + "=supervisor", "PATH=/usr/bin:/bin"}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	v := &victim{t: t, cmd: cmd, in: in, out: bufio.NewScanner(out)}
	t.Cleanup(v.kill)
	v.read()
	v.ask()
	return v
}

// ask refreshes helpers and missing.
func (v *victim) ask() {
	v.t.Helper()
	v.helpers, v.missing = nil, nil
	fmt.Fprintln(v.in, "now")
	v.read()
}

func (v *victim) read() {
	v.t.Helper()
	for v.out.Scan() {
		kind, rest, _ := strings.Cut(v.out.Text(), " ")
		var i id
		switch kind {
		case "ready":
			return
		case "missing":
			v.missing = append(v.missing, rest)
			continue
		}
		if _, err := fmt.Sscan(rest, &i.pid, &i.start); err != nil {
			v.t.Fatalf("%q: %v", v.out.Text(), err)
		}
		if kind == "tree" {
			v.tree = append(v.tree, i)
		} else {
			v.helpers = append(v.helpers, i)
		}
	}
	v.t.Fatal("the supervisor ended")
}

// kill sends SIGKILL.
func (v *victim) kill() {
	if v.cmd.ProcessState == nil {
		v.killed = time.Now()
		_ = v.cmd.Process.Kill()
		_ = v.cmd.Wait()
	}
}

// folders returns the cgroups that this supervisor has created.
func (v *victim) folders() []string {
	parent, err := sys.OwnCgroup()
	if err != nil {
		return nil
	}
	found, _ := filepath.Glob(fmt.Sprintf("%s/hostsup-%d-*", parent, v.cmd.Process.Pid))
	return found
}

func (v *victim) nothingLeft() {
	v.t.Helper()
	gone(v.t, append(v.tree, v.helpers...))
	v.t.Logf("%d processes gone after %v", len(v.tree)+len(v.helpers), time.Since(v.killed))
	if !eventually(func() bool { return len(v.folders()) == 0 }) {
		v.t.Errorf("left %v", v.folders())
	}
}

func TestKilledSupervisorLeavesNothing(t *testing.T) {
	for _, kind := range []Kill{KillCgroup, KillPidns, KillKeeper} {
		for name, script := range map[string]string{"running": stay, "orphans": leave} {
			t.Run(string(kind)+"/"+name, func(t *testing.T) {
				v := newVictim(t, kind, script, 4)
				if len(v.tree) < 8 {
					t.Fatalf("only %v", v.tree)
				}
				v.kill()
				v.nothingLeft()
			})
		}
	}
}

// The weakest kill method only ends processes that the supervisor itself started.
func TestKilledSupervisorLeavesNoDirectChild(t *testing.T) {
	v := newVictim(t, KillGroup, `echo ready; echo ready; echo ready; exec sleep 1000`, 4)
	if len(v.tree) != 4 {
		t.Fatalf("%v", v.tree)
	}
	v.kill()
	v.nothingLeft()
}

// The next supervisor kills the processes of a supervisor that was killed with its
// keeper; those of a living one are not touched.
func TestStaleFoldersAreSwept(t *testing.T) {
	launcherOf(t, KillCgroup) // lives through the test
	other := launcherOf(t, KillCgroup)
	c, out := start(t, other, shell("echo ready; exec sleep 1000"))
	lines(t, out, 1)

	v := newVictim(t, KillCgroup, stay, 2)
	for _, h := range v.helpers { // so that the keeper cannot clean up
		if err := syscall.Kill(h.pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	v.kill()
	if len(v.folders()) != 1 {
		t.Fatalf("folders %v", v.folders())
	}
	for _, h := range v.helpers {
		if err := syscall.Kill(h.pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	gone(t, v.helpers)
	alive := 0
	for _, i := range v.tree {
		if i.alive() {
			alive++
		}
	}
	if alive == 0 {
		t.Fatal("nothing is left to sweep")
	}
	l := launcherOf(t, KillCgroup)
	v.nothingLeft()
	select {
	case <-c.Done():
		t.Errorf("a living supervisor's child was ended: %+v", c.Exit())
	default:
	}
	if l.Missing() != nil {
		t.Errorf("missing %q", l.Missing())
	}
}

// Other users must not be able to open the folders of a Launcher: with a lock they would
// look like those of a living one.
func TestCgroupsAreClosed(t *testing.T) {
	l := launcherOf(t, KillCgroup)
	b, ok := l.impl.(*base)
	if !ok {
		t.Fatal("no cgroups")
	}
	cg, ok := b.back.(*cgroups)
	if !ok {
		t.Fatal("no cgroups")
	}
	st, err := os.Stat(cg.path)
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode().Perm()&0o077 != 0 {
		t.Errorf("%s: %v", cg.path, st.Mode())
	}
}

func TestOnlyOurFoldersAreSwept(t *testing.T) {
	for name, want := range map[string]bool{
		"hostsup-1-00000000":            true,
		"hostsup-4194304-deadbeef":      true,
		"hostsup-1-deadbee":             false,
		"hostsup-1-deadbeef0":           false,
		"hostsup-1-deadbeef.slice":      false,
		"hostsup-x-deadbeef":            false,
		"hostsup--1-deadbeef":           false,
		"hostsup-1-DEADBEEF":            false,
		"hostsup-01-deadbeef":           false,
		"xhostsup-1-deadbeef":           false,
		"hostsup":                       false,
		"hostsup-1-deadbeef-1-deadbeef": false,
	} {
		if isOurs(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

// The same tests as an ordinary user, who has other kill methods.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("already one")
	}
	if testing.Short() {
		t.Skip("runs the others once more")
	}
	dir, err := os.MkdirTemp("", "hostsup-test-") //nolint:usetesting // the other user must reach it
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "sandbox.test")
	b, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = leaktest.WriteProgram(binary, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	const uid = 65534
	which := "."
	if raceEnabled { // then a keeper starts slowly, and each child has one
		which = "^Test(Exit|StartError|KillTree.*|KilledSupervisor.*|Options|KillingTheHelperEndsTheLife|StoppedKeeperStillEndsTheTree)$"
	}
	cmd := exec.Command(binary, "-test.v", "-test.timeout=5m", "-test.run="+which)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "TMPDIR=" + dir, "HOME=" + dir, "HOSTSUP_REQUIRE_PEERS=" + os.Getenv("HOSTSUP_REQUIRE_PEERS"), "CGO_ENABLED=0"} // it cannot build anything
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "here: ") || strings.Contains(line, "gone after") || strings.Contains(line, "SKIP") {
			t.Log(strings.TrimSpace(line))
		}
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "here: ") {
		t.Error("the kill method is not reported")
	}
}
