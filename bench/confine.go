package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/hostsup/hostsup/bench/measure"
	"github.com/hostsup/hostsup/bench/peers"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
)

const startsPerRound = 40

// confineFigures are the nanoseconds of each start of /bin/true to its end, by
// the way it was started.
type confineFigures map[string][]float64

// The ways.
const (
	wayPlain    = "hostsup, unconfined"
	wayLandlock = "hostsup, level landlock"
	wayFull     = "hostsup, level full"
	wayBwrap    = "bwrap"
)

func confineSection(opt options) (*report, error) {
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("level full takes root: %w", peers.ErrMissing)
	}
	if _, err := exec.LookPath("bwrap"); err != nil {
		return nil, fmt.Errorf("bwrap: %w", peers.ErrMissing)
	}
	ways := []string{wayPlain, wayLandlock, wayFull, wayBwrap}
	rounds := map[string][]float64{} // the median of each
	all := confineFigures{}
	for range opt.rounds {
		f, err := hire[confineFigures]("confine", strconv.Itoa(startsPerRound))
		if err != nil {
			return nil, err
		}
		for _, w := range ways {
			rounds[w] = append(rounds[w], measure.Median(f[w]))
			all[w] = append(all[w], f[w]...)
		}
	}
	r := &report{
		title: "/bin/true confined, from its start to its end",
		head:  []string{"who", "median", "p90", "/ bwrap", "/ unconfined"},
	}
	for _, w := range ways {
		r.row(w, micros(measure.Quantile(all[w], 0.5)), micros(measure.Quantile(all[w], 0.9)),
			times(measure.Ratio(rounds[w], rounds[wayBwrap])), times(measure.Ratio(rounds[w], rounds[wayPlain])))
	}
	r.note("%d starts each, in turns; the profile strict, and bwrap with the same grants, namespaces and user, which has no system call filter and no Landlock", opt.rounds*startsPerRound)
	promise := func(what, peer string, ours, theirs []float64, limit float64) target {
		return target{
			what: what, ours: micros(measure.Median(ours)), peer: peer + " " + micros(measure.Median(theirs)),
			figure: measure.Ratio(ours, theirs), limit: limit, unit: " ×",
		}
	}
	r.targets = []target{
		promise("start at level full", wayBwrap, rounds[wayFull], rounds[wayBwrap], 1.1),
		promise("start at level landlock", wayPlain, rounds[wayLandlock], rounds[wayPlain], 3.5),
	}
	return r, nil
}

// confineWorker starts /bin/true N times in each way, by turns.
func confineWorker(args []string) (_ confineFigures, err error) {
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

	ways := map[string]func() error{
		wayPlain:    func() error { return startTrue(full, nil) },
		wayLandlock: func() error { return startTrue(weak, &landlock) },
		wayFull:     func() error { return startTrue(full, &strict) },
		wayBwrap:    startBwrap,
	}
	f := confineFigures{}
	for i := range n + 3 {
		for w, start := range ways {
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
