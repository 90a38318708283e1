package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/bench/measure"
	"github.com/hostsup/hostsup/bench/peers"
)

const (
	payloadSize = 100
	inFlight    = 64
	warmCalls   = 2000
)

// echoFigures are those of one round of one peer.
type echoFigures struct {
	P50, P99 float64 // nanoseconds, one call at a time
	Ops      float64 // calls a second, inFlight at a time; 0 for a sequential peer

	// Nanoseconds of processor time a call, of caller and peer together with all
	// that they do beside the call, one at a time and inFlight at a time.
	CPU, FloodCPU float64
}

// echoWorker measures one peer once: NAME SPELL.
func echoWorker(args []string) (echoFigures, error) {
	if len(args) != 2 {
		return echoFigures{}, errors.New("want NAME SPELL")
	}
	p, err := peers.Named(args[0])
	if err != nil {
		return echoFigures{}, err
	}
	spell, err := time.ParseDuration(args[1])
	if err != nil {
		return echoFigures{}, err
	}
	c, err := p.Dial()
	if err != nil {
		return echoFigures{}, err
	}
	f, err := measureCalls(func(worker int) call {
		one := caller{c: c, payload: newPayload(worker)}
		return one.call
	}, spell, !p.Sequential)
	return f, errors.Join(err, c.Close())
}

// call makes one call and checks its answer.
type call func(context.Context) error

// measureCalls measures calls one at a time, and then many at a time, each
// worker with a call of its own.
func measureCalls(of func(worker int) call, spell time.Duration, concurrent bool) (echoFigures, error) {
	ctx := context.Background()
	var f echoFigures
	one := of(0)
	for range warmCalls {
		if err := one(ctx); err != nil {
			return f, err
		}
	}
	clock, err := measure.ClockOfTree()
	if err != nil {
		return f, err
	}
	lat := make([]float64, 0, 1<<16)
	used, err := clock.Read()
	if err != nil {
		return f, err
	}
	for end := time.Now().Add(spell); ; {
		start := time.Now()
		if start.After(end) {
			break
		}
		if err := one(ctx); err != nil {
			return f, err
		}
		lat = append(lat, float64(time.Since(start)))
	}
	after, err := clock.Read()
	if err != nil {
		return f, err
	}
	f.CPU = float64(after-used) / float64(len(lat))
	f.P50, f.P99 = measure.Quantile(lat, 0.5), measure.Quantile(lat, 0.99)
	if !concurrent {
		return f, nil
	}
	if _, _, err := flood(ctx, of, spell/3); err != nil { // warms the other paths up
		return f, err
	}
	if used, err = clock.Read(); err != nil {
		return f, err
	}
	n, took, err := flood(ctx, of, spell)
	if err != nil {
		return f, err
	}
	if after, err = clock.Read(); err != nil {
		return f, err
	}
	f.Ops, f.FloodCPU = float64(n)/took.Seconds(), float64(after-used)/float64(n)
	return f, nil
}

// flood keeps inFlight calls open for that long and returns how many were answered.
func flood(ctx context.Context, of func(worker int) call, spell time.Duration) (int64, time.Duration, error) {
	var (
		wg    sync.WaitGroup
		stop  atomic.Bool
		total atomic.Int64
		errs  = make(chan error, inFlight)
	)
	start := time.Now()
	for i := range inFlight {
		wg.Go(func() {
			one := of(i)
			n := int64(0)
			for !stop.Load() {
				if err := one(ctx); err != nil {
					errs <- err
					break
				}
				n++
			}
			total.Add(n)
		})
	}
	timer := time.AfterFunc(spell, func() { stop.Store(true) })
	wg.Wait()
	timer.Stop()
	took := time.Since(start)
	close(errs)
	return total.Load(), took, <-errs
}

// caller makes calls with a payload that is another one each time, so that an
// answer that belongs to another call is noticed.
type caller struct {
	c       peers.Conn
	payload []byte
	n       uint32
}

func newPayload(worker int) []byte {
	return fmt.Appendf(make([]byte, 0, payloadSize), "%08d%04d%s", 0, worker, bytes.Repeat([]byte{'x'}, payloadSize-12))
}

func (o *caller) call(ctx context.Context) error {
	o.n++
	for i, n := 7, o.n; i >= 0; i, n = i-1, n/10 {
		o.payload[i] = '0' + byte(n%10)
	}
	out, err := o.c.Echo(ctx, o.payload)
	if err != nil {
		return err
	}
	if !bytes.Equal(out, o.payload) {
		return fmt.Errorf("sent %q, got %q", o.payload, out)
	}
	return nil
}

// echoRounds measures each peer once a round, in turns. The second result
// names those that are not on this machine.
func echoRounds(names []string, opt options) (map[string][]echoFigures, []string, error) {
	all := map[string][]echoFigures{}
	missing := map[string]bool{}
	var absent []string
	for round := range opt.rounds {
		fmt.Fprintf(os.Stderr, "echo: round %d of %d\n", round+1, opt.rounds)
		for i := range names {
			name := names[(i+round)%len(names)] // nobody is always behind the same one
			if missing[name] {
				continue
			}
			f, err := hire[echoFigures]("echo", name, opt.spell.String())
			if errors.Is(err, peers.ErrMissing) {
				missing[name] = true
				absent = append(absent, name)
				continue
			}
			if err != nil {
				return nil, nil, err
			}
			all[name] = append(all[name], f)
		}
	}
	return all, absent, nil
}

func column(fs []echoFigures, get func(echoFigures) float64) []float64 {
	out := make([]float64, len(fs))
	for i, f := range fs {
		out[i] = get(f)
		if out[i] == 0 {
			out[i] = math.NaN()
		}
	}
	return out
}

func p50(f echoFigures) float64      { return f.P50 }
func p99(f echoFigures) float64      { return f.P99 }
func ops(f echoFigures) float64      { return f.Ops }
func cpu(f echoFigures) float64      { return f.CPU }
func floodCPU(f echoFigures) float64 { return f.FloodCPU }

func echoSection(opt options) (*report, error) {
	names := []string{"hostsup", "framed-table", "neovim", "grpc-go-stream", "ttrpc", "grpc-go", "go-plugin", "bare-socket"}
	return echoReport("Echo of 100 bytes", names, opt)
}

func echoReport(title string, names []string, opt options) (*report, error) {
	all, absent, err := echoRounds(names, opt)
	if err != nil {
		return nil, err
	}
	r := &report{
		title: title,
		head: []string{
			"way", "p50", "p99", strconv.Itoa(inFlight) + " in flight", "p50 / " + names[0], "in flight / " + names[0],
			"processor time, one", "of " + strconv.Itoa(inFlight),
		},
	}
	ours := all[names[0]]
	for _, name := range names {
		fs := all[name]
		if len(fs) == 0 {
			continue
		}
		r.row(name, micros(measure.Median(column(fs, p50))), micros(measure.Median(column(fs, p99))),
			perSecond(measure.Median(column(fs, ops))),
			times(measure.Ratio(column(fs, p50), column(ours, p50))), times(measure.Ratio(column(fs, ops), column(ours, ops))),
			micros(measure.Median(column(fs, cpu))), micros(measure.Median(column(fs, floodCPU))))
	}
	r.note("medians of %d rounds in turns, each in processes of its own; ratios are medians of the ratios within a round", opt.rounds)
	r.note("processor time is that of both sides for a call, one at a time and with %d in flight, with all that they do beside it: looking on for an answer instead of sleeping, timers, collections", inFlight)
	for _, name := range absent {
		r.note("left out: %s is not on this machine", name)
	}
	for _, t := range []struct {
		what, peer string
		get        func(echoFigures) float64
		show       func(float64) string
		limit      float64
		least      bool
	}{
		{"echo, 64 in flight", "go-plugin", ops, perSecond, 7, true},
		{"echo, 64 in flight", "ttrpc", ops, perSecond, 2.5, true},
		{"echo, one at a time, p50", "ttrpc", p50, micros, 0.65, false},
		{"processor time of a call", "framed-table", cpu, micros, 1.3, false},
		{"processor time of a call, 64 in flight", "framed-table", floodCPU, micros, 1.3, false},
	} {
		if names[0] != "hostsup" || len(all[t.peer]) == 0 {
			continue
		}
		a, b := column(ours, t.get), column(all[t.peer], t.get)
		r.targets = append(r.targets, target{
			what: t.what, ours: t.show(measure.Median(a)), peer: t.peer + " " + t.show(measure.Median(b)),
			figure: measure.Ratio(a, b), limit: t.limit, least: t.least, unit: " ×",
		})
	}
	return r, nil
}

// evidenceSection compares calls with and without the recorder of messages for crash reports.
func evidenceSection(opt options) (*report, error) {
	return echoReport("Calls that are recorded for crash reports", []string{"hostsup", "hostsup-evidence"}, opt)
}

// requestSection compares the three ways in which a connection could keep its
// pending requests, with all else equal.
func requestSection(opt options) (*report, error) {
	names := []string{"framed-table", "framed-process", "framed-actor"}
	r, err := echoReport("A pending request kept in three ways", names, opt)
	if err != nil {
		return nil, err
	}
	r.head = append(r.head, "heap of a pending one")
	for i, name := range names {
		f, err := hire[pendingFigures]("pending", name, strconv.Itoa(pendingCount))
		if err != nil {
			return nil, err
		}
		r.rows[i] = append(r.rows[i], kib(f.Heap))
	}
	r.note("table: a map of channels; process: a lean actor.Process in the registry, without a mailbox; actor: a child actor of the connection")
	return r, nil
}
