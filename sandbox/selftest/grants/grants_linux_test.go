//go:build !hostsup_posix

package grants

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
)

var (
	seeds = flag.Int("seeds", 0, "how many cases are made for each user and level; default: 8, in ./test all 25")
	seed  = flag.Uint64("seed", 0, "the seed of the first case; 0 takes one from the clock where -seeds is given, else 1")
)

// ordinary is the user that cases are run as beside root.
const ordinary = 61003

// TestModel carries out random cases, as this user and, if that is root, as an
// ordinary one too, with namespaces and at level landlock.
func TestModel(t *testing.T) {
	best := sandbox.Probe().Level
	if best == policy.None {
		require.Missing(t, "confinement of any kind")
	}
	if *seeds == 0 {
		*seeds = require.Rounds(25, 8)
	}
	first := *seed
	if first == 0 {
		first = 1
		if *seeds > 25 {
			first = uint64(time.Now().UnixMilli())
		}
	}
	uids := []int{os.Getuid()}
	if os.Getuid() == 0 {
		uids = append(uids, ordinary)
	}
	for _, uid := range uids {
		for _, level := range []policy.Level{policy.NoCgroup, policy.Landlock} {
			t.Run(fmt.Sprintf("user-%d/%s", uid, level), func(t *testing.T) {
				if !best.AtLeast(level) {
					require.Missing(t, "confinement at level %s", level)
				}
				if raceEnabled && uid != 0 {
					// A nurse with a C library closes itself to its user, and may be faster
					// than the supervisor that maps its ids: no such program is shipped.
					t.Skip("not with the race detector")
				}
				inParts(t, uid, level, first)
			})
		}
	}
}

// inParts has the cases carried out by a process of this program that has the
// user, and as root a mount namespace of its own: mounts go with it.
func inParts(t *testing.T, uid int, level policy.Level, first uint64) {
	dir, err := os.MkdirTemp("/var/tmp", "hostsup-grants-") //nolint:usetesting // the confined user must reach it, and /tmp is private
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "grants.test")
	if err := copyProgram(program); err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = []string{roleVar + "=cases", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + work, "TMPDIR=" + work,
		"DIR=" + work, "LEVEL=" + string(level), "FIRST=" + strconv.FormatUint(first, 10), "SEEDS=" + strconv.Itoa(*seeds)}
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	}
	if uid != os.Getuid() {
		if err := os.Chown(work, uid, uid); err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
		return
	}
	t.Logf("%s", out)
}

func copyProgram(to string) error {
	text, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	return leaktest.WriteProgram(to, text, 0o755)
}

func init() { roles["cases"] = casesMain }

// casesMain carries out cases and tells the first that fails, made smaller.
func casesMain() int {
	first, _ := strconv.ParseUint(os.Getenv("FIRST"), 10, 64)
	n, _ := strconv.Atoi(os.Getenv("SEEDS"))
	r := &runner{dir: os.Getenv("DIR"), level: policy.Level(os.Getenv("LEVEL"))}
	root := os.Getuid() == 0
	syscall.Umask(0o022)
	if root {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	for i := range uint64(n) {
		c := generate(first+i, root, r.level)
		err := r.run(c)
		if err == nil {
			continue
		}
		fmt.Fprintf(os.Stderr, "%v\n%v\n", c, err)
		var last error
		small := shrink(c, 300, func(c *testCase) bool {
			e := r.run(c)
			if e == nil || kindOf(e) != kindOf(err) {
				return false
			}
			last = e
			return true
		})
		if last != nil {
			fmt.Fprintf(os.Stderr, "made smaller:\n%v\n%v\n", small, last)
		}
		return 1
	}
	fmt.Fprintf(os.Stderr, "%d cases from seed %d, %d starts, %d of them refused\n", n, first, r.starts, r.refusals)
	return 0
}

// kindOf is what two failures that are alike have in common: the last words.
func kindOf(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, ", which"); i >= 0 {
		return text[i:]
	}
	return strings.SplitN(text, ":", 3)[min(1, strings.Count(text, ":"))]
}
