package span

import (
	"testing"
	"time"
)

func TestOf(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", 10 * time.Second: "10s", time.Minute: "1m", 90 * time.Second: "1m30s", time.Hour: "1h",
		time.Hour + time.Second: "1h0m1s", 10 * time.Minute: "10m", 100 * time.Millisecond: "100ms", -5 * time.Minute: "-5m",
	} {
		if got := Of(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
		if back, err := time.ParseDuration(Of(d)); err != nil || back != d {
			t.Errorf("%v: %v, %v", d, back, err)
		}
	}
}
