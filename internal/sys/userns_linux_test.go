package sys

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/internal/require"
)

func newUserNS(t *testing.T, ids IDs, inotify int) int {
	t.Helper()
	if os.Geteuid() != 0 {
		require.Privilege(t, "maps a user that is not this one")
	}
	proc, err := OpenDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	defer Close(proc)
	ns, err := NewUserNS(proc, ids, inotify)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Close(ns) })
	return ns
}

// A new user namespace has its mapping and its bound, and no process: its first
// process is gone, and a wait for any child does not see it.
func TestNewUserNS(t *testing.T) {
	const uid, gid, bound = 62001, 62002, 8
	ns := newUserNS(t, IDs{InsideUID: uid, InsideGID: gid, OutsideUID: uid, OutsideGID: gid}, bound)
	children, err := Children(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if len(children) > 0 {
		t.Errorf("there are children: %v", children)
	}
	s := new(Script)
	s.Step("join")
	s.JoinUser(ns)
	dir := t.TempDir()
	if err := s.Exec("/bin/sh", []string{"sh", "-c", "cat /proc/self/uid_map /proc/self/gid_map " + inotifyLimit + " >" + dir + "/out"}, []string{"PATH=/usr/bin:/bin"}); err != nil {
		t.Fatal(err)
	}
	// A process that joins has the unmapped user, and writes as that user.
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	pid, pidfd, err := s.Spawn(0)
	if err != nil {
		t.Fatal(err)
	}
	Reap(pid)
	Close(pidfd)
	b, err := os.ReadFile(dir + "/out")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{strconv.Itoa(uid), strconv.Itoa(uid), "1", strconv.Itoa(gid), strconv.Itoa(gid), "1", strconv.Itoa(bound)}
	if got := strings.Fields(string(b)); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("it shows %q, want %q", got, want)
	}
}

// A user namespace must be made without copying this process: pages that were
// written to can be written to without a fault afterwards.
func TestNewUserNSCopiesNoMemory(t *testing.T) {
	if !HaveSpawn {
		t.Skip("the process that it begins with is a copy here")
	}
	const size = 32 << 20
	mem, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mem) }()
	if err := unix.Madvise(mem, unix.MADV_NOHUGEPAGE); err != nil && err != unix.EINVAL { // a kernel without huge pages
		t.Fatal(err)
	}
	pages := int64(size / os.Getpagesize())
	write := func() (faults int64) {
		var before, after unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &before); err != nil {
			t.Fatal(err)
		}
		for i := 0; i < size; i += os.Getpagesize() {
			mem[i]++
		}
		if err := unix.Getrusage(unix.RUSAGE_SELF, &after); err != nil {
			t.Fatal(err)
		}
		return after.Minflt - before.Minflt
	}
	if first := write(); first < pages/2 {
		t.Fatalf("writing to %d new pages took %d faults", pages, first)
	}
	for _, inotify := range []int{0, 8} {
		newUserNS(t, IDs{OutsideUID: 62001, OutsideGID: 62001}, inotify)
		if faults := write(); faults > pages/16 {
			t.Errorf("inotify %d: writing to %d pages again took %d faults", inotify, pages, faults)
		}
	}
}

// A program that reaps any ended child must be able to make user namespaces too.
func TestNewUserNSBesideReaper(t *testing.T) {
	var reaper sync.WaitGroup
	var stop atomic.Bool
	reaper.Go(func() {
		for !stop.Load() {
			if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err == nil && pid > 0 {
				t.Errorf("it reaped %d", pid)
			}
		}
	})
	defer reaper.Wait()
	defer stop.Store(true)
	for range 50 {
		newUserNS(t, IDs{OutsideUID: 62001, OutsideGID: 62001}, 8)
	}
}
