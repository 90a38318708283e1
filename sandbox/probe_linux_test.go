//go:build !hostsup_posix

package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/hostsup/hostsup/sandbox/policy"
)

func init() {
	roles["probe"] = func([]string) int {
		m := Probe()
		f, _ := m.Feature(featureOwners)
		fmt.Println(m.Level, f.Have)
		return 0
	}
}

// A process that is killed during Probe must leave no folder behind.
func TestProbeMakesNoFolder(t *testing.T) {
	temp := t.TempDir()
	before := time.Unix(1_000_000_000, 0)
	if err := os.Chtimes(temp, before, before); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{quickExit, roleVar + "=probe", "TMPDIR=" + temp}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if want := fmt.Sprintln(Probe().Level, os.Getuid() == 0 && hasOwners()); string(out) != want {
		t.Errorf("it found %q, and this process %q", out, want)
	}
	st, err := os.Stat(temp)
	if err != nil {
		t.Fatal(err)
	}
	if !st.ModTime().Equal(before) {
		t.Errorf("a file was created in its temporary folder")
	}
}

// A Landlock that restricts neither truncation nor signals is reported if no other
// mechanism does.
func TestOldLandlockIsReported(t *testing.T) {
	m := &machine{}
	for _, name := range []string{"landlock: truncating", "landlock: signals and abstract sockets"} {
		if _, ok := Probe().Feature(name); !ok {
			t.Errorf("%q is not tested", name)
		}
		m.Features = append(m.Features, Feature{Name: name, Detail: "landlock version 2"})
		line := name + ": landlock version 2"
		if !slices.Contains(m.missing(policy.Landlock), line) {
			t.Errorf("%q is not reported at level landlock", line)
		}
		if got := m.missing(policy.NoCgroup); len(got) > 0 {
			t.Errorf("reported although mounts and namespaces replace it: %q", got)
		}
	}
}

func hasOwners() bool {
	f, _ := Probe().Feature(featureOwners)
	return f.Have
}
