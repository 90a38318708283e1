//go:build !hostsup_posix

package sandbox

import (
	"os"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// Read-only paths within a writable folder cannot be changed in any way.
func TestReadOnlyWithinWritable(t *testing.T) {
	dir := ground(t)
	p := strict(t)
	p.Write = []string{dir + "/write", dir + "/write/fixed/free"}
	p.ReadOnly = []string{dir + "/write/fixed", dir + "/write/in/fixed.txt", "-" + dir + "/write/missing"}
	write(t, dir+"/write/fixed/free/a", "a\n")
	write(t, dir+"/write/fixed/hook", "as it was\n")
	write(t, dir+"/write/in/fixed.txt", "as it was\n")
	if os.Getuid() == 0 {
		const owner = 12345
		for _, f := range []string{"", "/fixed", "/fixed/free", "/fixed/free/a", "/fixed/hook", "/in", "/in/fixed.txt"} {
			if err := os.Chown(dir+"/write"+f, owner, owner); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Chmod(dir+"/write/fixed/hook", 0o600); err != nil {
		t.Fatal(err)
	}
	l := weakly(t, "")
	confines(t, policy.NoCgroup)
	out, _ := output(t, l, p, `
D=$1/write
try() { if (eval "$2") >/dev/null 2>&1; then echo "$1: yes"; else echo "$1: no"; fi; }
try read    "grep was $D/fixed/hook && grep was $D/in/fixed.txt"
try write   "echo x > $D/fixed/hook"
try append  "echo x >> $D/in/fixed.txt"
try new     "echo x > $D/fixed/new"
try mode    "chmod 777 $D/fixed/hook"
try touch   "touch $D/fixed/hook"
try remove  "rm -f $D/fixed/hook"
try rmdir   "rm -rf $D/fixed"
try out     "mv $D/fixed/hook $D/hook"
try over    "echo x > $D/y; mv $D/y $D/in/fixed.txt"
try away    "mv $D/fixed $D/loose"
try around  "mv $D/in $D/out"
try link    "ln $D/fixed/hook $D/hook"
try remount "mount -o remount,rw,bind $D/fixed"
try umount  "umount -l $D/fixed"
try proc    "echo x > /proc/self/root$D/fixed/hook"
try dotdot  "cd $D/fixed/free && echo x > ../hook"
try free    "echo x > $D/fixed/free/new"
try beside  "echo x > $D/in/other"
`, dir)
	want := map[string]string{"read": "yes", "free": "yes", "beside": "yes"}
	tried(t, out, 19, want)
	for _, f := range []string{"/write/fixed/hook", "/write/in/fixed.txt"} {
		if b, err := os.ReadFile(dir + f); err != nil || string(b) != "as it was\n" {
			t.Errorf("%s: %q, %v", f, b, err)
		}
	}
}

// Without mounts the policy is refused, whatever level it accepts.
func TestReadOnlyNeedsMounts(t *testing.T) {
	dir := ground(t)
	write(t, dir+"/write/fixed", "as it was\n")
	p := strict(t)
	p.Write, p.ReadOnly = []string{dir + "/write"}, []string{dir + "/write/fixed"}
	p.Level = policy.NoCgroup
	l := weakly(t, policy.Landlock)
	if err := p.Validate(policy.Limits{}); err != nil {
		t.Fatal(err)
	}
	_, err := l.Start(&Command{Name: "t", Path: "/bin/true", Args: []string{"true"}, Policy: p})
	if err == nil {
		t.Fatal("the start succeeds")
	}
	p.Level = policy.Landlock
	if _, err = l.Start(&Command{Name: "t", Path: "/bin/true", Args: []string{"true"}, Policy: p}); err == nil || !strings.Contains(err.Error(), "read_only") {
		t.Errorf("%v", err)
	}
}
