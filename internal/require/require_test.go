package require

import (
	"fmt"
	"os"
	"runtime"
	"testing"
)

// recorder records how a test ends.
type recorder struct {
	testing.TB
	how string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.how = "failed: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Skipf(format string, args ...any) {
	r.how = "skipped: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// ends returns how a test that lacks a tool ends, by the value of
// HOSTSUP_REQUIRE_PEERS.
func ends(t *testing.T, value string, lacks func(t testing.TB, format string, args ...any)) string {
	t.Setenv("HOSTSUP_REQUIRE_PEERS", value)
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		lacks(r, "a tool %d", 7)
		r.how = "it went on"
	}()
	<-done
	return r.how
}

const (
	skipped = "skipped: not here: a tool 7"
	failed  = "failed: HOSTSUP_REQUIRE_PEERS=1, and missing: a tool 7"
	forRoot = "skipped: only for root: a tool 7"
)

func TestMissing(t *testing.T) {
	for value, want := range map[string]string{"": skipped, "1": failed} {
		if how := ends(t, value, Missing); how != want {
			t.Errorf("%q: %s", value, how)
		}
	}
}

func TestPrivilege(t *testing.T) {
	want := map[string]string{"": skipped, "1": failed}
	if os.Getuid() != 0 {
		want = map[string]string{"": forRoot, "1": forRoot}
	}
	for value, want := range want {
		if how := ends(t, value, Privilege); how != want {
			t.Errorf("%q: %s", value, how)
		}
	}
}

func TestRounds(t *testing.T) {
	for _, tt := range []struct {
		thorough, peers string
		want            int
	}{{"", "", 3}, {"1", "", 200}, {"", "1", 200}, {"0", "", 3}} {
		t.Setenv("HOSTSUP_THOROUGH", tt.thorough)
		t.Setenv("HOSTSUP_REQUIRE_PEERS", tt.peers)
		if got := Rounds(200, 3); got != tt.want {
			t.Errorf("HOSTSUP_THOROUGH=%q and HOSTSUP_REQUIRE_PEERS=%q: %d rounds, expected %d", tt.thorough, tt.peers, got, tt.want)
		}
	}
}
