package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/bench/measure"
	"github.com/hostsup/hostsup/bench/peers"
)

const pendingCount = 100_000

// pendingFigures are bytes a pending request.
type pendingFigures struct {
	Heap, Stack, RSS float64
}

// pendingWorker keeps N requests of a peer pending and weighs them: PEER N.
// The peer "goroutine" is a goroutine that waits and nothing else, which is
// what every blocking call costs its caller.
func pendingWorker(args []string) (pendingFigures, error) {
	if len(args) != 2 {
		return pendingFigures{}, errors.New("want PEER N")
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return pendingFigures{}, err
	}
	if args[0] == "goroutine" {
		return weigh(n, nil, func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
	}
	c, err := peers.DialParker(args[0], n+warmCalls)
	if err != nil {
		return pendingFigures{}, err
	}
	one := caller{c: c, payload: newPayload(0)}
	f, err := weigh(n, func() error { return one.call(context.Background()) }, c.Park)
	return f, errors.Join(err, c.Close())
}

func weigh(n int, warm func() error, park func(context.Context) error) (pendingFigures, error) {
	var f pendingFigures
	for range warmCalls {
		if warm == nil {
			break
		}
		if err := warm(); err != nil {
			return f, err
		}
	}
	before, err := weight()
	if err != nil {
		return f, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var (
		wg      sync.WaitGroup
		early   atomic.Int64
		waiting atomic.Bool
		odd     = make(chan error, 1)
	)
	waiting.Store(true)
	for range n {
		wg.Go(func() {
			err := park(ctx)
			if waiting.Load() || err == nil {
				early.Add(1)
				select {
				case odd <- fmt.Errorf("a request ended early: %w", err):
				default:
				}
			}
		})
	}
	if err := quiet(); err != nil {
		return f, err
	}
	after, err := weight()
	if err != nil {
		return f, err
	}
	waiting.Store(false)
	cancel()
	wg.Wait()
	if k := early.Load(); k > 0 {
		return f, fmt.Errorf("%d of %d: %w", k, n, <-odd)
	}
	per := func(a, b float64) float64 { return (a - b) / float64(n) }
	return pendingFigures{per(after.Heap, before.Heap), per(after.Stack, before.Stack), per(after.RSS, before.RSS)}, nil
}

// weight is what this process holds now, after a collection.
func weight() (pendingFigures, error) {
	runtime.GC()
	runtime.GC() // what the first one's finalizers let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	p, err := measure.ReadProcess(0)
	return pendingFigures{float64(m.HeapAlloc), float64(m.StackInuse), float64(p.RSS)}, err
}

// quiet returns when this process has stopped computing for a while: all that
// was asked for is on its way and waits. One calm look is not enough, since on
// a busy machine it may just not have had its turn.
func quiet() error {
	const (
		step = 500 * time.Millisecond
		want = 4 // calm looks in a row
	)
	deadline := time.Now().Add(2 * time.Minute)
	last, err := measure.ReadProcess(0)
	for calm := 0; err == nil && time.Now().Before(deadline); {
		time.Sleep(step)
		var now measure.Process
		if now, err = measure.ReadProcess(0); err != nil {
			break
		}
		if calm++; now.CPU-last.CPU > step/20 {
			calm = 0
		}
		if calm == want {
			return nil
		}
		last = now
	}
	return errors.Join(err, errors.New("never came to rest"))
}

func pendingSection(options) (*report, error) {
	r := &report{
		title: fmt.Sprintf("%d pending requests", pendingCount),
		head:  []string{"way", "heap each", "without the waiting goroutine", "stack each", "resident each"},
	}
	figures := map[string]pendingFigures{}
	names := []string{"hostsup", "framed-table", "ttrpc", "grpc-go", "goroutine"}
	for _, name := range names {
		f, err := hire[pendingFigures]("pending", name, strconv.Itoa(pendingCount))
		if err != nil {
			return nil, err
		}
		figures[name] = f
	}
	idle := figures["goroutine"]
	for _, name := range names {
		f := figures[name]
		r.row(name, kib(f.Heap), kib(f.Heap-idle.Heap), kib(f.Stack), kib(f.RSS))
	}
	r.note("in the calling process; a blocking call costs its caller a goroutine, which is shown alone in the last row")
	ours, peer := figures["hostsup"].Heap-idle.Heap, figures["ttrpc"].Heap-idle.Heap
	r.targets = []target{{
		what: "memory of a pending request", ours: kib(ours), peer: "ttrpc " + kib(peer), figure: ours / 1024, limit: 1, unit: " KiB",
	}}
	return r, nil
}
