package inspector

import (
	"encoding/json"
	"errors"
	"testing"
)

func TestSince(t *testing.T) {
	t.Parallel()
	const whole = `{"nodes":[{"id":1,"callFrame":{"functionName":"f"},"hitCount":2,"children":[2]},{"id":2,"callFrame":{},"hitCount":2,"positionTicks":[{"line":1,"ticks":2}]}],` +
		`"startTime":1000,"endTime":1400,"samples":[1,1,2,2],"timeDeltas":[100,100,100,100]}`
	const half = `{"nodes":[{"id":1,"callFrame":{"functionName":"f"},"hitCount":0,"children":[2]},{"id":2,"callFrame":{},"hitCount":2}],` +
		`"startTime":1250,"endTime":1400,"samples":[2,2],"timeDeltas":[50,100]}`
	for from, want := range map[int64]string{0: whole, 1100: whole, 1250: half, 1401: whole, 9999: whole} {
		if got, err := since(json.RawMessage(whole), from); err != nil || string(got) != want {
			t.Errorf("from %d: %s, %v", from, got, err)
		}
	}
	if _, err := since(json.RawMessage(`{"nodes":7}`), 1); !errors.Is(err, ErrProtocol) {
		t.Errorf("%v", err)
	}
	if got, err := since(json.RawMessage(`{"nodes":[],"samples":[1]}`), 1); err != nil || string(got) != `{"nodes":[],"samples":[1]}` {
		t.Errorf("%s, %v", got, err)
	}
}
