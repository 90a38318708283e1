//go:build !hostsup_posix

package sandbox

import (
	"testing"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// strict is the policy of these tests: the system's programs and nothing else.
func strict(t testing.TB) *policy.Policy {
	t.Helper()
	p, ok := policy.Profile("strict")
	if !ok {
		t.Fatal("no profile strict")
	}
	return &p
}

func TestConfinedTrue(t *testing.T) {
	l := launcherOf(t, "")
	c, err := l.Start(&Command{Name: "true.1", Path: "/bin/true", Args: []string{"true"}, Policy: strict(t)})
	if err != nil {
		t.Fatal(err)
	}
	if e := wait(t, c); e.Code != 0 {
		t.Errorf("ended with %+v", e)
	}
	t.Logf("%+v", c.Confinement())
	c.Release()
}
