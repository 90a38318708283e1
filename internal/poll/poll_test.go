package poll

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostsup/hostsup/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

type recorder struct{ failure string }

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) { r.failure = fmt.Sprintf(format, args...) }

func TestUntilReturnsWhenTheConditionHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		begun := time.Now()
		Until(&r, time.Minute, "the event", func() bool { return time.Since(begun) >= time.Second })
		if took := time.Since(begun); r.failure != "" || took > time.Second+20*time.Millisecond {
			t.Errorf("%q after %s", r.failure, took)
		}
	})
}

func TestUntilFailsAfterTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		begun, calls := time.Now(), 0
		Until(&r, time.Minute, "the event", func() bool { calls++; return false })
		if took := time.Since(begun); r.failure != "the event: not within 1m0s" || took < time.Minute || took > time.Minute+20*time.Millisecond {
			t.Errorf("%q after %s", r.failure, took)
		}
		if calls > 3100 {
			t.Errorf("%d calls in a minute", calls)
		}
	})
}
