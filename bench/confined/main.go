// Command confined starts /bin/true in several ways by turns and prints how
// long each start took. It is a program of its own because the helper that
// confines a process is the program that imports package sandbox, once more:
// what else that program links takes its time in every start.
//
//	confined N
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
	sandbox.CloseInheritedOnExec()
	f, err := confined(os.Args[1:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "confined:", err)
		os.Exit(1)
	}
}

// confined starts /bin/true N times in each way, by turns. The figures are
// nanoseconds from the start to the end.
func confined(args []string) (_ ways.Figures, err error) {
	if len(args) != 1 {
		return nil, errors.New("want N")
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
	cmd := exec.Command("bwrap", append(args, "--remount-ro", "/", "--chdir", "/", "--", "/bin/true")...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
