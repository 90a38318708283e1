//go:build !hostsup_posix

package sandbox

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/internal/require"
)

// sampleFor is how long TestFaults tries a sample.
var sampleFor = time.Duration(require.Rounds(20, 5)) * time.Second

// sourceOrder returns a generator seeded by the sources of the package: each version has
// its own sample, the same in each run.
func sourceOrder(t *testing.T) *rand.Rand {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(b)
	}
	return rand.New(rand.NewChaCha8([32]byte(sum.Sum(nil))))
}

// faultCase is one fault.
type faultCase struct {
	setting *faultySetting
	usual   *outcome // of a start without a fault
	fault   fault
}

func (c *faultCase) String() string {
	if c.fault.errno != 0 {
		return fmt.Sprintf("%s: %v: %s", c.setting.Name, c.fault.at, unix.ErrnoName(c.fault.errno))
	}
	return fmt.Sprintf("%s: %v: the %s is killed", c.setting.Name, c.fault.at, c.fault.kill)
}

// errnos are the errors with which calls fail. Some have a meaning to a start, such as
// an old kernel or an existing file.
var errnos = []syscall.Errno{unix.EPERM, unix.EINVAL, unix.ENOSYS, unix.EEXIST, unix.ENOMEM}

// neverFail lists calls for which the kernel has no error.
var neverFail = map[int]bool{
	unix.SYS_GETPID: true, unix.SYS_GETPPID: true, unix.SYS_GETUID: true, unix.SYS_GETEUID: true, unix.SYS_GETGID: true,
	unix.SYS_GETEGID: true, unix.SYS_UMASK: true, unix.SYS_EXIT_GROUP: true,
}

// cases returns all faults of a start.
func (f *faultySetting) cases(usual *outcome) (all []*faultCase) {
	add := func(ft fault) { all = append(all, &faultCase{f, usual, ft}) }
	for _, c := range usual.tracer.calls {
		for _, errno := range errnos {
			if neverFail[c.nr] {
				break
			}
			add(fault{at: c.callSite, errno: errno})
		}
		add(fault{at: c.callSite, kill: bySupervisor})
		if f.Kill == "" && !f.User {
			add(fault{at: c.callSite, kill: byKeeper})
		}
		switch c.by {
		case bySpace, byNurse:
			add(fault{at: c.callSite, kill: c.by})
		case byCommand:
			add(fault{at: c.callSite, kill: c.by})
			if !f.direct() {
				add(fault{at: c.callSite, kill: byNurse})
			}
		}
	}
	return all
}

// sample shuffles faults so that the first ones differ most.
func sample(all []*faultCase, random *rand.Rand) {
	type class struct {
		setting, by, kill string
		nr                int
		fails             bool
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	seen := map[class]int{}
	order := map[*faultCase]int{}
	for _, c := range all {
		k := class{c.setting.Name, c.fault.at.by, c.fault.kill, c.fault.at.nr, c.fault.errno != 0}
		order[c] = seen[k]
		seen[k]++
	}
	slices.SortStableFunc(all, func(a, b *faultCase) int { return order[a] - order[b] })
}
