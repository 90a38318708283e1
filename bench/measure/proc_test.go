//go:build linux

package measure

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestReadProcessOfItself(t *testing.T) {
	p, err := ReadProcess(0)
	if err != nil {
		t.Fatal(err)
	}
	if p.PID != os.Getpid() || p.Parent != os.Getppid() {
		t.Errorf("pid %d, parent %d, want %d, %d", p.PID, p.Parent, os.Getpid(), os.Getppid())
	}
	if p.Threads < 1 || p.RSS < 1<<20 || p.Exe == "" {
		t.Errorf("implausible: %+v", p)
	}
}

func TestParseNameWithBrackets(t *testing.T) {
	stat := []byte("7 (a) b (c) S 1 7 7 0 -1 0 0 0 0 0 30 12 0 0 20 0 9 0 100 4096 5 0\n")
	p, err := parse("/proc/self", stat)
	if err != nil {
		t.Fatal(err)
	}
	if p.PID != 7 || p.Parent != 1 || p.Threads != 9 || p.CPU.Milliseconds() != 420 || p.RSS != int64(5*os.Getpagesize()) {
		t.Errorf("got %+v", p)
	}
	for _, bad := range []string{"", "7 no brackets", "7 (x) S 1"} {
		if _, err := parse("/proc/self", []byte(bad)); err == nil {
			t.Errorf("parse(%q) found nothing wrong", bad)
		}
	}
}

func TestDescendants(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 60 & wait")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		all, _ := Descendants(cmd.Process.Pid)
		cmd.Process.Kill()
		for _, p := range all {
			if q, err := os.FindProcess(p.PID); err == nil {
				q.Kill()
			}
		}
		cmd.Wait()
	}()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		all, err := Descendants(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		var child, grandchild bool
		for _, p := range all {
			child = child || p.PID == cmd.Process.Pid
			grandchild = grandchild || p.Parent == cmd.Process.Pid
		}
		if child && grandchild {
			return
		}
	}
	t.Fatal("the shell's child was never seen")
}
