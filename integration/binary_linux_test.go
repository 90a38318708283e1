//go:build linux

package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/internal/require"
)

// ordinary is a user with no rights and no account, for tests that run as root.
const ordinary = 54321

// binary builds the program as it is shipped, once, where every user can run
// it. HOSTSUP_BINARY=FILE is one that is built already, for a user who cannot.
var binary = sync.OnceValues(func() (string, error) {
	if built := os.Getenv("HOSTSUP_BINARY"); built != "" {
		return built, os.Chmod(os.TempDir(), 0o711)
	}
	dir, err := os.MkdirTemp("", "binary-")
	if err != nil {
		return "", err
	}
	atEnd = append(atEnd, func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "hostsup")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", path, "../cmd/hostsup")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, errors.Join(os.Chmod(os.TempDir(), 0o711), os.Chmod(dir, 0o755))
})

// hostsupBinary is the path of the program.
func hostsupBinary(t testing.TB) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// users runs a test as the user of this process and, if that is root, as an
// ordinary one too.
func users(t *testing.T, test func(t *testing.T, uid int)) {
	for name, uid := range accounts() {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, uid) })
	}
}

// accounts are the users that users runs a test as, by their names in the names of tests.
func accounts() map[string]int {
	if own := os.Getuid(); own != 0 {
		return map[string]int{"user": own}
	}
	return map[string]int{"root": 0, "user": ordinary}
}

// as makes a command run as a user.
func as(uid int, cmd *exec.Cmd) *exec.Cmd {
	if uid != os.Getuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	return cmd
}

// place is a folder of a user's that all may enter. What is in it goes with the
// test.
func place(t testing.TB, uid int) string {
	t.Helper()
	hostsupBinary(t)                       // opens the way to it
	dir, err := os.MkdirTemp("", "place-") //nolint:usetesting // the test's own folder is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, uid, uid)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// peer is the path of a program that the system has, one of the candidates.
func peer(t testing.TB, candidates ...string) string {
	t.Helper()
	for _, c := range candidates {
		if path, err := exec.LookPath(c); err == nil {
			return path
		}
	}
	require.Missing(t, "%v; ./test peers installs it", candidates)
	return ""
}
