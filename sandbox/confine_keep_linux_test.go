//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/sandbox/policy"
)

func TestConfinedWorkIsKept(t *testing.T) {
	if os.Getuid() != 0 {
		require.Privilege(t, "the right to a loop device")
	}
	if _, err := exec.LookPath("mkfs.ext4"); err != nil {
		require.Missing(t, "%v", err)
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		require.Missing(t, "%v", err)
	}
	l := weakly(t, "")
	dir := ground(t)
	p := strict(t)
	p.Work = policy.Work{Path: dir + "/work", Size: 8 << 20, Inodes: 64, Keep: true}
	out, e := output(t, l, p, `echo kept > a; cp /bin/true run; ./run && echo runs; head -c 20000000 /dev/zero > big || echo full; rm big; cat a`)
	if e.Code != 0 || strings.Contains(out, "runs") || !strings.Contains(out, "full") || !strings.HasSuffix(out, "kept\n") {
		t.Fatalf("%+v\n%s", e, out)
	}
	// The next life, possibly with another user, finds the files of the last.
	out, e = output(t, l, p, `cat a; echo more >> a; i=0; while [ $i -lt 200 ] && true > f$i; do i=$((i+1)); done 2>/dev/null; [ $i -lt 100 ] && echo few`)
	if e.Code != 0 || out != "kept\nfew\n" {
		t.Errorf("%+v\n%s", e, out)
	}
	if st, err := os.Stat(p.Work.Image()); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
}

// As root, an image that another user may have written is not mounted.
func TestConfinedImageIsOurs(t *testing.T) {
	if os.Getuid() != 0 {
		require.Privilege(t, "the right to a loop device")
	}
	l := weakly(t, "")
	dir := ground(t)
	p := strict(t)
	p.Work = policy.Work{Path: dir + "/work", Size: 8 << 20, Inodes: 64, Keep: true}
	image := p.Work.Image()
	for name, c := range map[string]struct {
		prepare func() error
		want    string
	}{
		"of another user": {func() error { return errors.Join(os.WriteFile(image, nil, 0o600), os.Chown(image, 4242, 4242)) }, "belongs to user 4242"},
		"for others":      {func() error { return errors.Join(os.WriteFile(image, nil, 0o600), os.Chmod(image, 0o606)) }, "other users may access it"},
		"link": {func() error {
			return errors.Join(os.WriteFile(dir+"/other", nil, 0o600), os.Symlink("other", image))
		}, "too many levels of symbolic links"},
		"folder": {func() error { return os.Mkdir(image, 0o700) }, "is a directory"},
		"pipe":   {func() error { return syscall.Mkfifo(image, 0o600) }, "it is not a regular file"},
		"shared folder": {func() error { return errors.Join(os.WriteFile(image, nil, 0o600), os.Chmod(dir, 0o777)) },
			"only the supervisor may be able to change that file: other users may write " + dir},
	} {
		if err := c.prepare(); err != nil {
			t.Fatal(err)
		}
		_, err := l.Start(&Command{Name: "kept", Path: "/bin/true", Args: []string{"true"}, Policy: p})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err := errors.Join(os.RemoveAll(image), os.Chmod(dir, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
}
