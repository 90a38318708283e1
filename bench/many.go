package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/hostsup/hostsup/bench/measure"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

const (
	manyRounds = 3
	settle     = 2 * time.Second // before memory is read
	idleSpell  = 5 * time.Second // over which idle CPU is read
	few        = 10              // hosts whose threads are compared with those of many
)

var sleeper = []string{"sleep", "infinity"}

// manyFigures are those of one round.
type manyFigures struct {
	Up, Stop float64 // nanoseconds
	PerHost  float64 // bytes
	Raw      float64 // likewise, before the collection
	Keepers  int
	Threads  int
	Idle     float64 // share of one CPU, 0 … 1
}

// crowd is N sleeping processes under somebody.
type crowd interface {
	up() error
	down() error
}

// manyWorker has a crowd and does with it as it is told on standard input, a
// line each; it answers with the nanoseconds that took. Looking at it is left
// to the process that tells, so as not to weigh the scales.
func manyWorker(c crowd) error {
	told := bufio.NewScanner(os.Stdin)
	debug.FreeOSMemory()
	fmt.Println(0) // it is there
	// What is weighed is what is held, not what the collector of an idle
	// process has no reason to take back; hostsup run does the same once it is
	// ready.
	collect := func() error {
		debug.FreeOSMemory()
		return nil
	}
	for _, act := range []func() error{c.up, collect, c.down, collect} {
		if !told.Scan() {
			return errors.Join(told.Err(), errors.New("nobody tells what to do"), c.down())
		}
		start := time.Now()
		if err := act(); err != nil {
			return err
		}
		fmt.Println(int64(time.Since(start)))
	}
	return nil
}

// manyRound measures one crowd once.
func manyRound(name string, n int) (f manyFigures, err error) {
	cmd, err := workerCommand(name, strconv.Itoa(n))
	if err != nil {
		return f, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return f, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return f, err
	}
	if err := cmd.Start(); err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, in.Close(), cmd.Wait()) }()
	said := bufio.NewScanner(out)
	hear := func() (float64, error) {
		if !said.Scan() {
			return 0, errors.Join(fmt.Errorf("%s fell silent", name), said.Err())
		}
		return strconv.ParseFloat(said.Text(), 64)
	}
	tell := func() (float64, error) {
		if _, err := fmt.Fprintln(in); err != nil {
			return 0, err
		}
		return hear()
	}

	if _, err := hear(); err != nil {
		return f, err
	}
	before, err := weighTree(cmd.Process.Pid)
	if err != nil {
		return f, err
	}
	if f.Up, err = tell(); err != nil {
		return f, err
	}
	raw, err := weighTree(cmd.Process.Pid)
	if err != nil {
		return f, err
	}
	if _, err := tell(); err != nil {
		return f, err
	}
	time.Sleep(settle)
	calm, err := weighTree(cmd.Process.Pid)
	if err != nil {
		return f, err
	}
	if calm.sleepers != n {
		return f, fmt.Errorf("%s: %d processes sleep, not %d", name, calm.sleepers, n)
	}
	began := time.Now()
	time.Sleep(idleSpell)
	after, err := weighTree(cmd.Process.Pid)
	if err != nil {
		return f, err
	}
	f.Idle = float64(after.cpu-calm.cpu) / float64(time.Since(began))
	f.Raw = float64(raw.rss-before.rss) / float64(n)
	f.PerHost, f.Keepers, f.Threads = float64(calm.rss-before.rss)/float64(n), calm.keepers, calm.threads
	if f.Stop, err = tell(); err != nil {
		return f, err
	}
	if _, err := tell(); err != nil {
		return f, err
	}
	last, err := weighTree(cmd.Process.Pid)
	if err == nil && last.sleepers != 0 {
		err = fmt.Errorf("%s: %d processes outlived the stop", name, last.sleepers)
	}
	return f, err
}

// load is what a worker and its keepers weigh.
type load struct {
	rss               int64
	cpu               time.Duration
	threads           int // of the worker alone
	keepers, sleepers int
}

// weighTree adds up a worker and what it started for itself. The sleepers are
// the work, not the weight.
func weighTree(pid int) (load, error) {
	top, err := measure.ReadProcess(pid)
	if err != nil {
		return load{}, err
	}
	all, err := measure.Descendants(pid)
	if err != nil {
		return load{}, err
	}
	l := load{rss: top.RSS, cpu: top.CPU, threads: top.Threads}
	for _, p := range all {
		if base := filepath.Base(p.Exe); base == "sleep" || base == "coreutils" {
			l.sleepers++
			continue
		}
		l.keepers++
		l.rss += p.RSS
		l.cpu += p.CPU
	}
	return l, nil
}

// manyHostsup has the hosts kept by a supervisor.
func manyHostsup(args []string) error {
	n, err := count(args)
	if err != nil {
		return err
	}
	return manyWorker(&supervised{n: n})
}

func count(args []string) (int, error) {
	if len(args) != 1 {
		return 0, errors.New("want N")
	}
	return strconv.Atoi(args[0])
}

type supervised struct {
	n int
	s *supervisor.Supervisor
}

func (c *supervised) up() error {
	var hosts []supervisor.HostSpec
	for i := range c.n {
		hosts = append(hosts, supervisor.HostSpec{Name: "h" + strconv.Itoa(i), Command: sleeper})
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var err error
	if c.s, err = supervisor.Start(context.Background(), supervisor.Spec{Groups: []supervisor.GroupSpec{{Name: "all", Hosts: hosts}}}); err != nil {
		return err
	}
	if err := c.s.Ready(ctx); err != nil {
		return errors.Join(err, c.down())
	}
	for _, h := range c.s.Status().Hosts {
		if h.State != lifecycle.Running {
			return errors.Join(fmt.Errorf("%s is %s", h.Name, h.State), c.down())
		}
	}
	return nil
}

func (c *supervised) down() error {
	if c.s == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return c.s.Stop(ctx)
}

// manyLoop has them started by a plain loop, with a waiting goroutine each.
func manyLoop(args []string) error {
	n, err := count(args)
	if err != nil {
		return err
	}
	return manyWorker(&looped{n: n})
}

type looped struct {
	n     int
	wg    sync.WaitGroup
	procs []*os.Process
}

func (c *looped) up() error {
	for range c.n {
		b, err := startBare(sleeper)
		if err != nil {
			return errors.Join(err, c.down())
		}
		c.procs = append(c.procs, b.process)
		c.wg.Go(func() { _ = b.wait() }) // killed by down
	}
	return nil
}

func (c *looped) down() error {
	var err error
	for _, p := range c.procs {
		err = errors.Join(err, p.Kill())
	}
	c.wg.Wait()
	return err
}

func manySection(opt options) (*report, error) {
	names := []string{"many-hostsup", "many-loop"}
	all := map[string][]manyFigures{}
	for range min(opt.rounds, manyRounds) {
		for _, name := range names {
			f, err := manyRound(name, opt.hosts)
			if err != nil {
				return nil, err
			}
			all[name] = append(all[name], f)
		}
	}
	small, err := manyRound("many-hostsup", few)
	if err != nil {
		return nil, err
	}
	get := func(name string, field func(manyFigures) float64) []float64 {
		var out []float64
		for _, f := range all[name] {
			out = append(out, field(f))
		}
		return out
	}
	up := func(f manyFigures) float64 { return f.Up }
	stop := func(f manyFigures) float64 { return f.Stop }
	mem := func(f manyFigures) float64 { return f.PerHost }
	raw := func(f manyFigures) float64 { return f.Raw }
	threads := func(f manyFigures) float64 { return float64(f.Threads) }
	idle := func(f manyFigures) float64 { return f.Idle * 100 }
	med := func(name string, field func(manyFigures) float64) float64 { return measure.Median(get(name, field)) }

	r := &report{
		title: fmt.Sprintf("%d sleeping hosts", opt.hosts),
		head:  []string{"who", "up", "/ loop", "stopped", "memory a host", "threads", "idle CPU"},
	}
	for i, name := range names {
		r.row([]string{"hostsup", "bare loop"}[i], millis(med(name, up)), times(measure.Ratio(get(name, up), get(names[1], up))),
			millis(med(name, stop)), kib(med(name, mem)), fmt.Sprintf("%.0f", med(name, threads)), fmt.Sprintf("%.2f %%", med(name, idle)))
	}
	ours, loop := names[0], names[1]
	r.note("medians of %d rounds in turns; memory is resident size after minus before, both after a collection, keepers counted (%d here)",
		len(all[ours]), all[ours][0].Keepers)
	r.note("right after the start, before that collection: %s with hostsup, %s with the loop", kib(med(ours, raw)), kib(med(loop, raw)))
	r.note("with %d hosts instead: %d threads", few, small.Threads)
	r.targets = []target{
		{
			what: "many hosts up", ours: millis(med(ours, up)), peer: "bare loop " + millis(med(loop, up)),
			figure: measure.Ratio(get(ours, up), get(loop, up)), limit: 2, unit: " ×",
		},
		{what: "many hosts stopped", ours: millis(med(ours, stop)), peer: "bare loop " + millis(med(loop, stop)), figure: med(ours, stop) / 1e9, limit: 1, unit: " s"},
		{what: "memory a host", ours: kib(med(ours, mem)), peer: "bare loop " + kib(med(loop, mem)), figure: med(ours, mem) / 1024, limit: 34, unit: " KiB"},
		// A tick of the clock by which the kernel counts is 0.2 % of the spell.
		{what: "idle CPU", ours: fmt.Sprintf("%.2f %%", med(ours, idle)), figure: med(ours, idle), limit: 0.5, unit: " %"},
		// A fixed number: what the runtime starts for its own differs by a few.
		{
			what: "threads more than with few hosts", ours: fmt.Sprintf("%.0f", med(ours, threads)), peer: fmt.Sprintf("bare loop %.0f", med(loop, threads)),
			figure: med(ours, threads) - float64(small.Threads), limit: 8,
		},
	}
	return r, nil
}
