//go:build linux

package integration

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/supervisor"
)

// cpuProfile is what a test looks for in one.
type cpuProfile struct {
	Nodes []struct {
		HitCount  int
		CallFrame struct{ FunctionName, URL string }
	}
	Samples []int
}

// hits is how many samples were in functions of a name.
func (p *cpuProfile) hits(function string) (n int) {
	for _, node := range p.Nodes {
		if node.CallFrame.FunctionName == function {
			n += node.HitCount
		}
	}
	return n
}

func profiles(t testing.TB, sup *supervisor.Supervisor, host string, d time.Duration) *cpuProfile {
	t.Helper()
	var out bytes.Buffer
	if err := sup.Profile(ctx(t), host, d, &out); err != nil {
		t.Fatal(err)
	}
	p := new(cpuProfile)
	if err := json.Unmarshal(out.Bytes(), p); err != nil {
		t.Fatal(err)
	}
	return p
}

// A profile of a busy host shows who is busy, also where no other message is
// answered; and the port is closed afterwards.
func TestInspect(t *testing.T) {
	t.Parallel()
	for version := range releases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			sup, h := alone(t, extendedOf(t, version, "burns"))
			activates(t, sup, "timer", "calm")
			if err := executes(t, h, nil, "timer.run", int(patience/time.Millisecond)/4); err != nil {
				t.Fatal(err)
			}
			p := profiles(t, sup, "vs", 500*time.Millisecond)
			if n := p.hits("burnTheProcessor"); n < len(p.Samples)/2 {
				t.Errorf("%d of %d samples", n, len(p.Samples))
			}
			in, err := sup.Inspect(ctx(t), "vs")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(in.URL, "ws://127.0.0.1:") || !in.Opened || in.PID != *h.Status().PID {
				t.Errorf("%+v", in)
			}
			again, err := sup.Inspect(ctx(t), "vs")
			if err != nil || again.URL != in.URL {
				t.Errorf("%+v, %v", again, err)
			}
		})
	}
}
