//go:build !hostsup_posix

package sandbox

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/sandbox/policy"
)

func TestConfinedWorkIsKept(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("a loop device takes root")
	}
	if _, err := exec.LookPath("mkfs.ext4"); err != nil {
		t.Skip(err)
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		t.Skip(err)
	}
	l := weakly(t, "")
	dir := ground(t)
	p := strict(t)
	p.Work = policy.Work{Path: dir + "/work", Size: 8 << 20, Inodes: 64, Keep: true}
	out, e := output(t, l, p, `echo kept > a; cp /bin/true run; ./run && echo runs; head -c 20000000 /dev/zero > big || echo full; rm big; cat a`)
	if e.Code != 0 || strings.Contains(out, "runs") || !strings.Contains(out, "full") || !strings.HasSuffix(out, "kept\n") {
		t.Fatalf("%+v\n%s", e, out)
	}
	// The next life has another user, maybe, and finds what it left.
	out, e = output(t, l, p, `cat a; echo more >> a; i=0; while [ $i -lt 200 ] && true > f$i; do i=$((i+1)); done 2>/dev/null; [ $i -lt 100 ] && echo few`)
	if e.Code != 0 || out != "kept\nfew\n" {
		t.Errorf("%+v\n%s", e, out)
	}
	if st, err := os.Stat(dir + "/work" + imageSuffix); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
}
