// Package leaktest fails the tests of a package for what they leave behind:
// goroutines, descriptors, processes, files in the temporary folder, and
// cgroups. Every package whose tests start or open any of these must have
//
//	func TestMain(m *testing.M) { leaktest.Main(m) }
//
// Descriptors, processes and cgroups are checked on Linux only.
package leaktest

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.uber.org/goleak"
)

// patience bounds the wait for what is about to end.
const patience = 20 * time.Second

// Tests runs the tests; *testing.M implements it.
type Tests interface{ Run() int }

// Main runs the tests, reports on stderr what they left behind, and exits with 1 if
// they left anything, else with the code of the tests.
func Main(m Tests) { os.Exit(Run(m)) }

// Run is Main without the exit. It sets TMPDIR to a new folder while the tests run,
// so that files forgotten there are found. Signals that the parent ignored, as nohup
// and a shell's & do, have their default action again in the programs that tests
// start.
func Run(m Tests) int {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s) // a caught signal is not inherited
		}
	}
	temp, err := os.MkdirTemp("", "leaktest-")
	if err == nil {
		err = os.Chmod(temp, 0o777|os.ModeSticky) // as /tmp is: tests may run programs as other users
	}
	if err == nil {
		err = os.Setenv("TMPDIR", temp)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "leaktest:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(temp) }() // it is empty, or its files were reported
	before := Descriptors()
	code := m.Run()
	if left := wait(before, temp); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "left behind by the tests:\n%s\n", strings.Join(left, "\n"))
		return 1
	}
	return code
}

// wait looks for leaks until it finds none or patience is over, and returns the last
// ones found.
func wait(before []string, temp string) []string {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); ; {
		left := leaks(before, temp)
		if len(left) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-late:
			return left
		}
	}
}

func leaks(before []string, temp string) []string {
	var left []string
	if err := goleak.Find(); err != nil {
		left = append(left, err.Error())
	}
	for _, d := range Descriptors() {
		if !slices.Contains(before, d) {
			left = append(left, "descriptor "+d)
		}
	}
	for _, pid := range processes() {
		left = append(left, "process "+pid+" "+describe(pid))
	}
	files, _ := filepath.Glob(filepath.Join(temp, "*")) // the pattern is valid
	for _, f := range files {
		left = append(left, "file "+f)
	}
	for _, g := range Cgroups() {
		left = append(left, "cgroup "+g)
	}
	return left
}

// Cgroups lists the cgroups that this process has made and not removed.
func Cgroups() []string {
	var out []string
	for _, parent := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		found, _ := filepath.Glob(fmt.Sprintf("%s/hostsup-%d-*", parent, os.Getpid())) // the pattern is valid
		out = append(out, found...)
	}
	return out
}

// Descriptors lists the open descriptors as "number target", without those that the
// network poller keeps open after its first use.
func Descriptors() []string {
	entries, _ := os.ReadDir("/proc/self/fd")
	var out []string
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && !strings.Contains(target, "eventpoll") && !strings.Contains(target, "eventfd") {
			out = append(out, e.Name()+" "+target)
		}
	}
	return out
}

// processes lists the children of this process, and the processes that run this very
// program and have lost their parent.
func processes() []string {
	entries, _ := filepath.Glob("/proc/[0-9]*") // the pattern is valid
	self, _ := os.Readlink("/proc/self/exe")
	var out []string
	for _, e := range entries {
		pid := filepath.Base(e)
		switch parent := parentOf(pid); {
		case parent == os.Getpid():
			out = append(out, pid)
		case parent == 1 && pid != strconv.Itoa(os.Getpid()):
			if exe, err := os.Readlink(e + "/exe"); err == nil && exe == self {
				out = append(out, pid)
			}
		}
	}
	return out
}

// parentOf returns 0 for a process that has ended.
func parentOf(pid string) int {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0
	}
	// The name, in parentheses, may contain any character.
	_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}

// describe returns the command line of a process, and for one that has none, which is
// one that has ended, what the kernel knows of it (proc_pid_stat(5)).
func describe(pid string) string {
	b, _ := os.ReadFile("/proc/" + pid + "/cmdline")
	text := strings.TrimSpace(strings.ReplaceAll(string(b), "\x00", " "))
	if text == "" {
		b, _ = os.ReadFile("/proc/" + pid + "/stat")
		text, _, _ = strings.Cut(string(b), "\n")
	}
	return text
}
