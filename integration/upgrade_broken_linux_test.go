//go:build linux

package integration

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/internal/poll"
)

// TestUpgradeToBroken upgrades to programs that do not take over, and with a state and a configuration that no program can go on
// with. The supervisor goes on, with the same process and the same hosts.
func TestUpgradeToBroken(t *testing.T) {
	t.Parallel()
	u := upgradable(t, func(host func(string, ...string) string) string { return host("stays", surviving) + host("other") })
	before := u.hosts()
	program := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(u.dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	state := filepath.Join(u.dir, "state", "survive", "stays", "1.json")
	life, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(u.config())
	if err != nil {
		t.Fatal(err)
	}
	swap := func(path string, text []byte) func() {
		return func() {
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	nothing := func() {}
	for name, c := range map[string]struct {
		path          string
		change, after func()
		want          string
	}{
		"missing":        {filepath.Join(u.dir, "missing"), nothing, nothing, "no such file"},
		"not executable": {program("plain", "#!/bin/sh\n", 0o600), nothing, nothing, "permission denied"},
		"ends":           {program("ends", "#!/bin/sh\nexit 3\n", 0o700), nothing, nothing, "it ended (exit status 3)"},
		"is killed":      {program("killed", "#!/bin/sh\nkill -9 $$\n", 0o700), nothing, nothing, "it ended (signal: killed)"},
		"hangs":          {program("hangs", "#!/bin/sh\nexec sleep 1000\n", 0o700), nothing, nothing, `it did not tell "hello" within 10s`},
		"other protocol": {program("other", "#!/bin/sh\necho '{\"step\":\"hello\",\"protocol\":7,\"version\":\"v9\"}' >&3\nexec sleep 1000\n", 0o700), nothing, nothing, "it speaks version 7 of the handover, expected 1"},
		"garbage":        {program("garbage", "#!/bin/sh\necho garbage >&3\nexec sleep 1000\n", 0o700), nothing, nothing, "invalid character"},
		"hangs later":    {program("later", "#!/bin/sh\necho '{\"step\":\"hello\",\"protocol\":1,\"version\":\"v9\"}' >&3\nread -r x <&3\necho '{\"step\":\"taken\"}' >&3\nkill -9 $$\n", 0o700), nothing, nothing, "it ended (signal: killed)"},
		"newer state": {hostsupBinary(t), swap(state, bytes.Replace(life, []byte(`"version":1`), []byte(`"version":2`), 1)), swap(state, life),
			"has version 2, expected up to 1"},
		"bad configuration": {hostsupBinary(t), swap(u.config(), append([]byte("nonsense {}\n"), config...)), swap(u.config(), config), "nonsense"},
		"another state_dir": {hostsupBinary(t), swap(u.config(), bytes.Replace(config, []byte("/state\""), []byte("/elsewhere\""), 1)), swap(u.config(), config), "that needs a new start"},
	} {
		begun := time.Now()
		c.change()
		_, errout, code := u.upgrade(c.path)
		c.after()
		if code != 1 || !strings.HasPrefix(errout, "hostsup: not_replaced: "+c.path) || !strings.Contains(errout, c.want) || !strings.Contains(errout, "the supervisor goes on") {
			t.Errorf("%s: exit %d, %s", name, code, errout)
		}
		if after := u.hosts(); !sameHosts(before, after) {
			t.Errorf("%s: after %v, before %v", name, after, before)
		}
		t.Logf("%s: %s", name, time.Since(begun))
		if st, err := u.client.Status(t.Context()); err != nil || st.Supervisor.PID != u.cmd.Process.Pid {
			t.Errorf("%s: %+v, %v", name, st, err)
		}
	}
	if done, errout, code := u.upgrade(); code != 0 || len(done.Stayed) != 1 {
		t.Errorf("a program that is in order: exit %d, %s%+v", code, errout, done)
	}
}

// TestUpgradeFailsLate upgrades to a program that lets the supervisor stop its tree, and ends then. A process of the program that
// ran goes on.
func TestUpgradeFailsLate(t *testing.T) {
	t.Parallel()
	u := upgradable(t, func(host func(string, ...string) string) string { return host("stays", surviving) + host("other") })
	before := u.hosts()
	late := filepath.Join(u.dir, "late")
	text := "#!/bin/sh\necho '{\"step\":\"hello\",\"protocol\":1,\"version\":\"v9\"}' >&3\nread -r x <&3\necho '{\"step\":\"taken\"}' >&3\necho '{\"step\":\"ready\",\"hosts\":[\"stays\",\"other\"],\"kept\":[\"stays\"]}' >&3\nread -r x <&3\nexit 4\n"
	if err := os.WriteFile(late, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	_, errout, code := u.upgrade(late)
	if code != 1 || !strings.Contains(errout, "it ended (exit status 4)") || !strings.Contains(errout, "of the program that ran has taken over instead") {
		t.Errorf("exit %d, %s", code, errout)
	}
	if after := u.hosts(); after["stays"] != before["stays"] || len(after) != 2 {
		t.Errorf("after %v, before %v", after, before)
	}
}

// TestUpgradeKilled kills the supervisor, or the process that takes over, at random moments of upgrades. No host is lost or runs
// twice, and those that survive have the process from before.
func TestUpgradeKilled(t *testing.T) {
	t.Parallel()
	u := upgradable(t, func(host func(string, ...string) string) string {
		return host("s1", surviving) + host("s2", surviving) + host("other")
	})
	before := u.hosts()
	r := rand.New(rand.NewPCG(19, 2))
	killed := map[string]int{}
	for i := range 24 {
		old, err := u.client.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		outcome := make(chan int, 1)
		go func() {
			_, _, code := u.upgrade()
			outcome <- code
		}()
		pause := time.NewTimer(time.Duration(r.IntN(120)) * time.Millisecond)
		<-pause.C
		if i%2 == 0 {
			_ = syscall.Kill(old.Supervisor.PID, syscall.SIGKILL)
			killed["old"]++
		} else {
			for _, pid := range childPIDs(old.Supervisor.PID) {
				if isHandover(pid) {
					_ = syscall.Kill(pid, syscall.SIGKILL)
					killed["new"]++
				}
			}
		}
		<-outcome
		poll.Until(t, patience, "a supervisor answers", func() bool {
			_, err := u.client.Status(t.Context())
			if control.ClassOf(err) == control.NoSupervisor {
				select {
				case <-u.exited:
					u.start()
				default:
				}
			}
			return err == nil
		})
		after := u.hosts()
		for _, name := range []string{"s1", "s2"} {
			if after[name] != before[name] {
				t.Errorf("%d: %s is process and life %v, and was %v", i, name, after[name], before[name])
			}
		}
		poll.Until(t, patience, "each host has one process", func() bool {
			return len(u.processes("s1")) == 1 && len(u.processes("s2")) == 1 && len(u.processes("other")) == 1
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("killed: %v", killed)
}

// childPIDs returns the children of a process.
func childPIDs(pid int) (pids []int) {
	paths, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, p := range paths {
		b, _ := os.ReadFile(p)
		for _, f := range strings.Fields(string(b)) {
			var child int
			if _, err := fmt.Sscan(f, &child); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// isHandover reports whether a process was started to take over.
func isHandover(pid int) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && bytes.Contains(env, []byte("HOSTSUP_HANDOVER="))
}
