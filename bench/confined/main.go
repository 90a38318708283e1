// Command confined starts /bin/true in several ways by turns and prints how
// long each start took. It is a program of its own because the helper that
// confines a process is the program that imports package sandbox, once more:
// what else that program links takes its time in every start.
//
//	confined N HOSTSUP
//	confined first    start one and end
//	confined nothing  end
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/hostsup/hostsup/bench/peers/ways"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "confined:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 1 {
		switch args[0] {
		case nothing:
			return nil
		case first:
			return startFirst()
		}
	}
	sandbox.CloseInheritedOnExec()
	f, err := confined(args)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(f)
}

// Arguments of this program started once more.
const (
	first   = "first"
	nothing = "nothing"
)

// startFirst starts one command as sandbox run does.
func startFirst() (err error) {
	sandbox.RememberProbe()
	l, err := sandbox.NewLauncher(sandbox.Options{Kill: sandbox.KillGroup, Unrecorded: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	strict, ok := policy.Profile("strict")
	if !ok {
		return errors.New("there is no profile strict")
	}
	return startTrue(l, &strict)
}

// confined starts /bin/true N times in each way, by turns, one of which is the
// program HOSTSUP. The figures are nanoseconds from the start to the end.
func confined(args []string) (_ ways.Figures, err error) {
	if len(args) != 2 {
		return nil, errors.New("want N HOSTSUP")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return nil, err
	}
	full, err := sandbox.NewLauncher(sandbox.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, full.Close()) }()
	weak, err := sandbox.NewLauncher(sandbox.Options{Strongest: policy.Landlock})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, weak.Close()) }()
	strict, ok := policy.Profile("strict")
	if !ok {
		return nil, errors.New("there is no profile strict")
	}
	strict.Level = policy.Full
	landlock := strict
	landlock.Level = policy.Landlock

	starts := map[string]func() error{
		ways.Plain:    func() error { return startTrue(full, nil) },
		ways.Landlock: func() error { return startTrue(weak, &landlock) },
		ways.Full:     func() error { return startTrue(full, &strict) },
		ways.Bwrap:    startBwrap,
		ways.Run:      func() error { return startProgram(args[1], "sandbox", "run", "--profile", "strict", "--", "/bin/true") },
		ways.Version:  func() error { return startProgram(args[1], "version") },
		ways.First:    func() error { return startProgram(self, first) },
		ways.Nothing:  func() error { return startProgram(self, nothing) },
	}
	f := ways.Figures{}
	for i := range n + 3 {
		for w, start := range starts {
			began := time.Now()
			if err := start(); err != nil {
				return nil, fmt.Errorf("%s: %w", w, err)
			}
			if i >= 3 { // the first ones find cold caches
				f[w] = append(f[w], float64(time.Since(began)))
			}
		}
	}
	return f, nil
}

func startTrue(l *sandbox.Launcher, p *policy.Policy) error {
	c, err := l.Start(&sandbox.Command{Name: "true.1", Path: "/bin/true", Args: []string{"true"}, Policy: p})
	if err != nil {
		return err
	}
	<-c.Done()
	c.Release()
	if e := c.Exit(); e.Code != 0 {
		return fmt.Errorf("exit code %d, signal %d", e.Code, e.Signal)
	}
	return nil
}

// startBwrap confines as nearly the same as bwrap can.
func startBwrap() error {
	args := []string{
		"--unshare-all", "--unshare-user", "--uid", "62001", "--gid", "62001", "--cap-drop", "ALL", "--die-with-parent",
		"--new-session", "--clearenv", "--hostname", "sandbox", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
	}
	for _, path := range []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/libx32", "/lib64",
		"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime",
	} {
		if to, err := os.Readlink(path); err == nil && path != "/etc/localtime" {
			args = append(args, "--symlink", to, path)
		} else if _, err := os.Stat(path); err == nil {
			args = append(args, "--ro-bind", path, path)
		}
	}
	return startProgram("bwrap", append(args, "--remount-ro", "/", "--chdir", "/", "--", "/bin/true")...)
}

// startProgram runs a program to its end, as a shell would.
func startProgram(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
