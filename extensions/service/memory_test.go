package service

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/blame"
	"github.com/hostsup/hostsup/internal/sys"
)

func TestMemoryLimitOfHost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command []string
		options string
		limit   int64
		want    int64
	}{
		{want: maxHeap},
		{command: []string{"node", "--max-old-space-size=256", "host.js"}, want: 256 << 20},
		{command: []string{"node", "host.js"}, options: "--no-warnings --max-old-space-size=512", want: 512 << 20},
		{command: []string{"node", "--max-old-space-size=256"}, limit: 128 << 20, want: 128 << 20},
		{command: []string{"node", "--max-old-space-size=x"}, limit: 4 << 30, want: maxHeap},
	} {
		var spec actors.HostSpec
		spec.Command, spec.Resources.Memory = c.command, c.limit
		spec.Env = map[string]string{"NODE_OPTIONS": c.options}
		if got := memoryLimit(spec); got != c.want {
			t.Errorf("%+v: %d, %d expected", c, got, c.want)
		}
	}
}

// Growth is measured from the least memory that there was.
func TestMemoryGrowth(t *testing.T) {
	t.Parallel()
	g := growth{step: 100}
	for i, c := range []struct {
		rss  int64
		grew bool
	}{{500, false}, {599, false}, {400, false}, {499, false}, {500, true}} {
		if got := g.grew(c.rss); got != c.grew {
			t.Errorf("%d: %v", i, got)
		}
	}
}

// The heap decides, unless it explains little of the growth: then it was in buffers, and what
// the extensions did meanwhile decides.
func TestAllocationsOfBuffers(t *testing.T) {
	t.Parallel()
	index := blame.NewIndex([]extensions.Extension{{ID: "acme.heap", Folder: "/ext/heap"}, {ID: "acme.buffers", Folder: "/ext/buffers"}})
	heap := json.RawMessage(`{"head":{"callFrame":{"url":""},"children":[{"callFrame":{"url":"/ext/heap/a.js"},"selfSize":1000}]}}`)
	cpu := json.RawMessage(`{"nodes":[{"id":1},{"id":2,"callFrame":{"url":"/ext/buffers/a.js"}}],"samples":[1,1,1,2]}`)
	for _, c := range []struct {
		grown int64
		want  blame.Share
	}{{4000, blame.Share{ID: "acme.heap", Share: 1}}, {5000, blame.Share{ID: "acme.buffers", Share: 1}}} {
		if got, err := allocations(index, heap, cpu, c.grown); err != nil || len(got) != 1 || got[0] != c.want {
			t.Errorf("%d: %v, %v", c.grown, got, err)
		}
	}
	if got, err := allocations(index, json.RawMessage(`{}`), cpu, 5000); err == nil {
		t.Errorf("%v", got)
	}
}

// BenchmarkMemoryOfHost is the cost of a host whose memory does not grow, four times a second.
func BenchmarkMemoryOfHost(b *testing.B) {
	for b.Loop() {
		if _, _, err := sys.ProcStat(os.Getpid()); err != nil {
			b.Fatal(err)
		}
	}
}
