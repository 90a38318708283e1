//go:build !hostsup_posix

package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// overlay mounts a file system that cannot map owners, with a folder that only root may
// search.
func overlay(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("an ordinary user's files are not mapped")
	}
	base := ground(t)
	dir := filepath.Join(base, "merged")
	for _, name := range []string{"lower", "merged"} {
		if err := os.Mkdir(filepath.Join(base, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	upper := filepath.Join(base, "upper")
	if err := os.Mkdir(upper, 0o700); err != nil {
		t.Fatal(err)
	}
	// The lower file system must not be an overlay itself.
	if err := syscall.Mount("tmpfs", upper, "tmpfs", 0, ""); err != nil {
		require.Missing(t, "the right to mount: %v", err)
	}
	t.Cleanup(func() { unmount(t, upper) })
	for _, name := range []string{"u", "w"} {
		if err := os.Mkdir(filepath.Join(upper, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	options := "lowerdir=" + base + "/lower,upperdir=" + upper + "/u,workdir=" + upper + "/w"
	if err := syscall.Mount("overlay", dir, "overlay", 0, options); err != nil {
		require.Missing(t, "an overlay: %v", err)
	}
	t.Cleanup(func() { unmount(t, dir) })
	write(t, dir+"/own", "own")
	if err := os.Chmod(dir+"/own", 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func unmount(t *testing.T, dir string) {
	t.Helper()
	if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
		t.Error(err)
	}
}

// If owners cannot be mapped, an ordinary command of root runs as root, but without its
// privileges.
func TestOrdinaryWhereOwnersCannotBeMapped(t *testing.T) {
	dir := overlay(t)
	confines(t, policy.NoCgroup)
	l := weakly(t, "")
	for name, change := range map[string]func(p *policy.Policy){
		"written":            func(p *policy.Policy) { p.Write = append(p.Write, dir) },
		"the working folder": func(p *policy.Policy) { p.Read = append(p.Read, dir) },
	} {
		p := strict(t)
		p.Level, p.Ordinary = policy.NoCgroup, true
		change(p)
		cmd := shell(`
id -u; cat own; echo
grep -h CapEff /proc/self/status
test -e /proc/1 && echo "sees init"
for f in vmallocinfo timer_list slabinfo kpageflags cmdline; do head -c1 /proc/$f 2>/dev/null && echo "read $f"; done
command -v perl >/dev/null || { echo pair; exit; }
perl -MSocket -e 'socket(S,AF_UNIX,SOCK_STREAM,0) and print "socket\n"; socketpair(A,B,AF_UNIX,SOCK_STREAM,0) and print "pair\n"'
`)
		cmd.Policy, cmd.Dir = p, dir
		c, out := start(t, l, cmd)
		var got []string
		for out.Scan() {
			got = append(got, out.Text())
		}
		wait(t, c)
		c.Release()
		if want := []string{"0", "own", "CapEff:\t0000000000000000", "pair"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if missing := c.Confinement().Missing; !slices.ContainsFunc(missing, func(m string) bool { return strings.HasPrefix(m, "mapped owners: the file system") }) {
			t.Errorf("%s: not reported: %q", name, missing)
		}
	}
}
