//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/hostsup/hostsup/sandbox/policy"
)

func TestConfinedBoundedFolders(t *testing.T) {
	l := weakly(t, "")
	confines(t, policy.NoCgroup)
	dir := ground(t)
	p := strict(t)
	p.Work = policy.Work{Path: dir + "/work", Size: 1 << 20, Inodes: 32}
	p.Tmp = policy.Tmp{Size: 1 << 20, Inodes: 32}
	out, _ := output(t, l, p, `
pwd
for d in $1/work /tmp; do
	head -c 3000000 /dev/zero > $d/big 2>/dev/null && echo "$d: too many bytes"
	rm -f $d/big; i=0
	while [ $i -lt 100 ] && true > $d/f$i; do i=$((i+1)); done 2>/dev/null
	[ $i -lt 40 ] || echo "$d: $i files"
done; echo end`, dir)
	if out != dir+"/work\nend\n" {
		t.Errorf("%s", out)
	}
	if _, err := os.Stat(dir + "/work"); err == nil {
		t.Error("the work folder was created on the host side")
	}
}

// Every process has its own user id, and all ids are released.
func TestConfinedUsers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root has many users")
	}
	l, err := NewLauncher(Options{Users: Range{First: 70000, Count: 3}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := func() *Command {
		c := shell(`id -u; exec sleep 1000`)
		c.Policy = strict(t)
		return c
	}
	var children []*Child
	seen := map[string]bool{}
	for range 3 {
		c, out := start(t, l, cmd())
		seen[lines(t, out, 1)[0]] = true
		children = append(children, c)
	}
	if len(seen) != 3 {
		t.Errorf("users %v", seen)
	}
	if _, err := l.Start(cmd()); !errors.Is(err, ErrNoUser) {
		t.Errorf("a fourth: %v", err)
	}
	// Another Launcher does not allocate the same ids.
	other, err := NewLauncher(Options{Users: Range{First: 70000, Count: 3}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Start(cmd()); !errors.Is(err, ErrNoUser) {
		t.Errorf("of another launcher: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	for _, c := range children {
		_ = c.KillTree()
		wait(t, c)
		c.Release()
	}
	if !eventually(func() bool {
		c, err := l.Start(&Command{Name: "x", Path: "/bin/true", Args: []string{"true"}, Policy: strict(t)})
		if err == nil {
			wait(t, c)
			c.Release()
		}
		return err == nil
	}) {
		t.Error("user ids are not released")
	}
}

func TestConfinedMany(t *testing.T) {
	l := weakly(t, "")
	const n = 12
	errs := make(chan error, n)
	for i := range n {
		go func() {
			c, err := l.Start(&Command{Name: fmt.Sprintf("many.%d", i), Path: "/bin/sh", Args: []string{"sh", "-c", "exit $0", strconv.Itoa(i)}, Policy: strict(t)})
			if err == nil {
				<-c.Done()
				if c.Exit().Code != i {
					err = fmt.Errorf("%d ended with %+v", i, c.Exit())
				}
				c.Release()
			}
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
