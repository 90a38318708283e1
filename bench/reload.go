package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/hostsup/hostsup/bench/measure"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

const (
	reloads      = 20
	idleHosts    = 200
	idleToken    = "a-token-for-the-measurement-of-idleness"
	statusPeriod = time.Second // of a page that asks
)

// reloadFigures are those of one worker, in nanoseconds.
type reloadFigures struct {
	Apply    []float64 // from the configuration that was read to the one in force
	Restarts int       // of all reloads
	Started  int       // lives that began
}

// reloadWorker changes one of N hosts that run, again and again.
func reloadWorker(args []string) (f reloadFigures, err error) {
	n, err := count(args)
	if err != nil {
		return f, err
	}
	spec := func(mark int) supervisor.Spec {
		g := supervisor.GroupSpec{Name: "all"}
		for i := range n {
			h := supervisor.HostSpec{Name: fmt.Sprintf("h%d", i), Command: sleeper}
			if i == n/2 {
				h.Env = map[string]string{"MARK": strconv.Itoa(mark)}
			}
			g.Hosts = append(g.Hosts, h)
		}
		return supervisor.Spec{Groups: []supervisor.GroupSpec{g}}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	sup, err := supervisor.Start(ctx, spec(0))
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, sup.Stop(context.Background())) }()
	if err := sup.Ready(ctx); err != nil {
		return f, err
	}
	changed, err := sup.Host(fmt.Sprintf("h%d", n/2))
	if err != nil {
		return f, err
	}
	lives := func() (all int) {
		for _, h := range sup.Hosts() {
			all += int(h.Life())
		}
		return all
	}
	before := lives()
	for i := range reloads {
		next := spec(i + 1)
		start := time.Now()
		plan, err := supervisor.Apply(ctx, sup, next)
		if err != nil {
			return f, err
		}
		f.Apply = append(f.Apply, float64(time.Since(start)))
		f.Restarts += plan.Count(supervisor.ActionRestart, supervisor.ActionAdd, supervisor.ActionMove, supervisor.ActionRemove)
		for changed.State() != lifecycle.Running || changed.Life() != uint64(i+2) { // the next one changes a host that runs
			time.Sleep(time.Millisecond)
		}
	}
	f.Started = lives() - before
	return f, nil
}

// idleWorker is a supervisor with N hosts and a console, until its input ends.
func idleWorker(args []string) (err error) {
	n, err := count(args)
	if err != nil {
		return err
	}
	sleepers := &supervised{n: n}
	if err := sleepers.up(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sleepers.down()) }()
	token, err := control.NewToken("page", control.RoleRead, idleToken)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := control.NewServer(control.Over(sleepers.s), control.Options{})
	served := make(chan error, 1)
	go func() { served <- srv.ServeConsole(l, control.Access{Tokens: []control.Token{token}}) }()
	fmt.Println(l.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, srv.Close(context.Background()), <-served)
}

// idleRound returns the share of a core that a supervisor takes with a follower of its
// events, and with one that asks for the status each second as well.
func idleRound(n int) (followed, asked float64, err error) {
	cmd, err := workerCommand("idle", strconv.Itoa(n))
	if err != nil {
		return 0, 0, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, in.Close(), cmd.Wait()) }()
	said := bufio.NewScanner(out)
	if !said.Scan() {
		return 0, 0, errors.Join(errors.New("the idle supervisor fell silent"), said.Err())
	}
	get := func(path string) (io.ReadCloser, error) {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+said.Text()+path, nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+idleToken)
		req.Header.Set("Accept", "text/event-stream")
		res, err := http.DefaultClient.Do(req)
		if err == nil && res.StatusCode != http.StatusOK {
			err = errors.Join(fmt.Errorf("%s answers %s", path, res.Status), res.Body.Close())
		}
		if err != nil {
			return nil, err
		}
		return res.Body, nil
	}
	follow, err := get("/v1/events?follow=true")
	if err != nil {
		return 0, 0, err
	}
	defer follow.Close()
	go io.Copy(io.Discard, follow) //nolint:errcheck // it ends with the follower
	time.Sleep(settle)
	spell := func(each func() error) (float64, error) {
		before, err := weighTree(cmd.Process.Pid)
		if err != nil {
			return 0, err
		}
		for began := time.Now(); ; time.Sleep(statusPeriod) {
			if time.Since(began) >= idleSpell {
				after, err := weighTree(cmd.Process.Pid)
				return float64(after.cpu-before.cpu) / float64(time.Since(began)), err
			}
			if err := each(); err != nil {
				return 0, err
			}
		}
	}
	if followed, err = spell(func() error { return nil }); err != nil {
		return 0, 0, err
	}
	asked, err = spell(func() error {
		body, err := get("/v1/status")
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, body)
		return errors.Join(err, body.Close())
	})
	return followed, asked, err
}

func reloadSection(opt options) (*report, error) {
	f, err := hire[reloadFigures]("reload", strconv.Itoa(opt.hosts))
	if err != nil {
		return nil, err
	}
	var followed, asked []float64
	for range min(opt.rounds, manyRounds) {
		a, b, err := idleRound(idleHosts)
		if err != nil {
			return nil, err
		}
		followed, asked = append(followed, a*100), append(asked, b*100)
	}
	apply, worst := measure.Median(f.Apply), measure.Quantile(f.Apply, 1)
	r := &report{title: fmt.Sprintf("Reload of %d hosts with one change, and idleness with %d", opt.hosts, idleHosts), head: []string{"what", "median", "worst"}}
	r.row("from the file that was read to the configuration in force", millis(apply), millis(worst))
	percent := func(xs []float64, q float64) string { return fmt.Sprintf("%.2f %%", measure.Quantile(xs, q)) }
	r.row("a follower of events, share of a core", percent(followed, 0.5), percent(followed, 1))
	r.row("and the status once a second", percent(asked, 0.5), percent(asked, 1))
	r.note("%d reloads, each of which changes the environment of one host; %d lives began", len(f.Apply), f.Started)
	r.targets = []target{
		{what: "reload of many hosts with one change", ours: millis(apply), figure: apply / 1e6, limit: 50, unit: " ms"},
		{what: "lives that one reload begins", ours: strconv.Itoa(f.Started), figure: float64(max(f.Started, f.Restarts)) / float64(len(f.Apply)), limit: 1},
		{what: "idle with a follower of events", ours: percent(followed, 0.5), figure: measure.Median(followed), limit: 2, unit: " %"},
	}
	return r, nil
}
