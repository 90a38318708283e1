//go:build unix

package sys

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/internal/signame"
)

// TestSignalNames compares the table of package signame with this system's.
func TestSignalNames(t *testing.T) {
	for n := 1; n < 32; n++ {
		if want := unix.SignalName(syscall.Signal(n)); want != "" && signame.Of(n) != want {
			t.Errorf("%d is %s, want %s", n, signame.Of(n), want)
		}
		if name := signame.Of(n); signame.Number(name) != n {
			t.Errorf("%s is %d, want %d", name, signame.Number(name), n)
		}
	}
}
