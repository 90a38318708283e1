package service

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/extensions/blame"
	"github.com/hostsup/hostsup/internal/sys"
)

// When allocations are sampled. Reading the memory of a process takes about 10 µs, and a host
// whose memory does not grow is only read.
const (
	readEvery   = 250 * time.Millisecond
	sampleEvery = 500 * time.Millisecond
	sampleFor   = time.Minute      // at most
	steadyFor   = 10 * time.Second // without growth the sampling ends
	minGrowth   = 32 << 20         // bytes
	maxHeap     = int64(2 << 30)   // of a node without limits
	growthShare = 8                // of the limit is growth by its eighth
)

const heapOption = "--max-old-space-size="

// memoryWatch watches the memory of one life.
type memoryWatch struct {
	life   uint64
	cancel context.CancelFunc
	pause  context.CancelFunc // ends the sampling that runs; nil without one
	shares []blame.Share      // of the latest sample; the loop owns it
}

// watchMemory samples the allocations of a life whenever its memory grows.
func (p *extHost) watchMemory(life uint64) {
	p.forgetMemory()
	if p.s.tree.Allocations == nil || p.s.spec.NoProfiles || p.ref == nil || !p.s.dialect.own() {
		return
	}
	ctx, cancel := context.WithCancel(p.s.ctx)
	w := &memoryWatch{life: life, cancel: cancel}
	p.memory = w
	g := growth{step: max(minGrowth, memoryLimit(p.ref.Spec())/growthShare)}
	ref := p.ref
	p.s.work.Go(func() {
		defer cancel()
		ticker := time.NewTicker(readEvery)
		defer ticker.Stop()
		for {
			rss, ok := residentOf(ref, life)
			if !ok {
				return
			}
			if g.grew(rss) {
				p.sampleMemory(ctx, w, ref, rss)
				g = growth{step: g.step} // what is there now is the new measure
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

// forgetMemory ends the watch over a life.
func (p *extHost) forgetMemory() {
	if p.memory != nil {
		p.memory.cancel()
		p.memory = nil
	}
}

// yieldInspector ends a sampling, because the inspector of a host serves one at a time.
func (p *extHost) yieldInspector() {
	if p.memory != nil && p.memory.pause != nil {
		p.memory.pause()
	}
}

// growth finds out whether memory has grown.
type growth struct {
	step int64 // bytes
	base int64 // the least since it was reset; 0: not known
}

func (g *growth) grew(rss int64) bool {
	if g.base == 0 || rss < g.base {
		g.base = rss
	}
	return rss-g.base >= g.step
}

// memoryLimit returns the memory at which a host ends, in bytes.
func memoryLimit(spec actors.HostSpec) int64 {
	limit := maxHeap
	options := append([]string{}, spec.Command...)
	options = append(options, strings.Fields(spec.Env["NODE_OPTIONS"])...)
	for _, o := range options {
		if text, ok := strings.CutPrefix(o, heapOption); ok {
			if mib, err := strconv.ParseInt(text, 10, 32); err == nil && mib > 0 {
				limit = min(limit, mib<<20)
			}
		}
	}
	if m := spec.Resources.Memory; m > 0 {
		limit = min(limit, m)
	}
	return limit
}

// residentOf returns the resident memory of the process of a life; false after its end.
func residentOf(ref *actors.Ref, life uint64) (int64, bool) {
	st := ref.Peek()
	if st.Life != life || st.PID == nil {
		return 0, false
	}
	rss, _, err := sys.ProcStat(*st.PID)
	return rss, err == nil
}

// sampleMemory samples the allocations until the memory no longer grows.
func (p *extHost) sampleMemory(parent context.Context, w *memoryWatch, ref *actors.Ref, base int64) {
	ctx, cancel := context.WithTimeout(parent, sampleFor)
	defer cancel()
	p.s.post(func() { w.pause = cancel })
	index, err := get(ctx, p.s, func() blame.Index { return p.s.index })
	if err != nil {
		return
	}
	peak, since := base, time.Now()
	err = p.s.tree.Allocations(ctx, p.name, w.life, sampleEvery, func(heap, cpu json.RawMessage) {
		rss, ok := residentOf(ref, w.life)
		if !ok {
			return
		}
		if rss > peak+minGrowth/4 {
			peak, since = rss, time.Now()
		} else if time.Since(since) >= steadyFor {
			cancel()
		}
		shares, err := allocations(index, heap, cpu, peak-base)
		if err != nil || shares == nil {
			p.s.log.Debug("no sample of allocations", "host", p.name, "life", w.life, "error", err)
			return
		}
		p.s.post(func() { w.shares = shares })
	})
	if err != nil {
		p.s.log.Debug("allocations were not sampled", "host", p.name, "life", w.life, "error", err)
	}
	p.s.post(func() { w.pause = nil })
}

// allocations returns the extensions' shares of what the memory has grown by: those of the heap,
// or where that explains less than a quarter, because it is in buffers, those of the extensions'
// time.
func allocations(index blame.Index, heap, cpu json.RawMessage, grown int64) ([]blame.Share, error) {
	shares, bytes, err := index.Allocated(heap)
	if err != nil || bytes >= grown/4 {
		return shares, err
	}
	shares, err = index.Shares(cpu)
	total := 0.0
	for _, s := range shares {
		total += s.Share
	}
	for i := range shares {
		shares[i].Share /= total
	}
	return shares, err
}
