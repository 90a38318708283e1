//go:build unix

package resolve

import (
	"os"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/sandbox/policy"
)

func TestCaller(t *testing.T) {
	for _, c := range []struct {
		sudo string
		uid  int
		bad  string
	}{
		{"1234567", 1234567, ""}, {"", 0, "root is the caller"}, {"0", 0, "root is the caller"}, {"x", 0, `SUDO_UID is "x"`}, {"4294967295", 0, "SUDO_UID is"},
	} {
		t.Setenv("SUDO_UID", c.sudo)
		r, err := Policy(&policy.Policy{User: "caller", Level: policy.NoCgroup}, policy.Limits{})
		switch {
		case os.Geteuid() != 0:
			if err != nil || r.UID != -1 {
				t.Errorf("%v %v", r, err)
			}
		case c.bad != "":
			if err == nil || !strings.Contains(err.Error(), c.bad) {
				t.Errorf("%q: %v", c.sudo, err)
			}
		case err != nil || r.UID != c.uid:
			t.Errorf("%q: %v %v", c.sudo, r, err)
		}
	}
}
