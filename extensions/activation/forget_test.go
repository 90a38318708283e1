package activation

import (
	"testing"
	"time"

	"github.com/hostsup/hostsup/extensions"
)

// The machine keeps nothing of forgotten requests.
func TestForget(t *testing.T) {
	now := time.Unix(0, 0)
	m := New(Rules{})
	m.Step(Installed{
		List:  []extensions.Extension{{ID: "a.b", Main: "x", Events: []string{"onCommand:x"}}},
		Where: map[extensions.ID]string{"a.b": "h"},
	}, now)
	m.Step(Boot{}, now)
	m.Step(HostUp{"h", 1}, now)
	const asks = 1000
	for tag := uint64(1); tag <= asks; tag++ {
		m.Step(RequestExtension{ID: "a.b", Tag: tag}, now)
	}
	for tag := uint64(1); tag < asks; tag++ {
		m.Step(Forget{tag}, now)
	}
	if len(m.waits) != 1 {
		t.Errorf("%d requests are kept", len(m.waits))
	}
	var settled []uint64
	for _, e := range m.Step(Done{Host: "h", Life: 1, ID: "a.b"}, now) {
		if s, ok := e.(Settled); ok {
			settled = append(settled, s.Tag)
		}
	}
	if len(settled) != 1 || settled[0] != asks {
		t.Error(settled)
	}
}
