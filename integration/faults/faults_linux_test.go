package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix" //nolint:depguard // limits and mounts of another process, which only this test changes

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// fault is something that goes wrong. do begins it and returns what ends it, if it does not
// end by itself.
type fault struct {
	name string
	do   func(w *world, r *rand.Rand) (end func())
	own  bool // it needs a file system of its own
	ends bool // the supervisor, or may do so
}

// all are the faults.
var all = []fault{
	{name: "kill a host", do: func(w *world, r *rand.Rand) func() { w.signal(r, syscall.SIGKILL); return nil }},
	{name: "stop a host", do: func(w *world, r *rand.Rand) func() { w.signal(r, syscall.SIGSTOP); return nil }},
	{name: "garbage", do: ask("garbage", `{"kind":"byte"}`)},
	{name: "half a frame", do: ask("garbage", `{"kind":"truncated"}`)},
	{name: "a huge frame", do: ask("garbage", `{"kind":"huge"}`)},
	{name: "text where frames belong", do: ask("garbage", `{"kind":"noise"}`)},
	{name: "an answer twice", do: ask("garbage", `{"kind":"twice"}`)},
	{name: "a host that does not read", do: ask("hang", `{}`)},
	{name: "a slow consumer", do: slowConsumer},
	{name: "a fork storm", do: spawn(`{}`, 50)},
	{name: "a double fork", do: spawn(`{"setsid":true}`, 3)},
	{name: "ignored signals", do: func(w *world, _ *rand.Rand) func() { return w.aside(w.client.Restart, hostName(deaf)) }},
	{name: "a flood of output", do: func(w *world, r *rand.Rand) func() {
		text, _ := json.Marshal(map[string]string{"stdout": strings.Repeat("0123456789abcdef\n", 4096), "stderr": strings.Repeat("x", 60_000)})
		return w.ask(hostName(r.IntN(deaf)), "print", string(text), 30).Wait
	}},
	{name: "an exit in the handshake", do: func(w *world, _ *rand.Rand) func() { return w.bad("bad-die") }},
	{name: "an exit before the handshake", do: func(w *world, _ *rand.Rand) func() { return w.bad("bad-exit") }},
	{name: "no handshake", do: func(w *world, _ *rand.Rand) func() { return w.bad("bad-never") }},
	{name: "a full disk", own: true, do: fullDisk},
	{name: "a disk that cannot be written", own: true, do: readOnly},
	{name: "no state folder", own: true, do: noState},
	{name: "no descriptors", do: noDescriptors},
	{name: "no processes", ends: true, do: noProcesses},
	{name: "no memory", ends: true, do: noMemory},
	{name: "a second supervisor", do: second},
	{name: "1,000 idle connections", do: idleConnections},
	{name: "the socket is removed", do: func(w *world, _ *rand.Rand) func() { _ = os.Remove(w.socket); return nil }},
	{name: "a cgroup is removed", do: func(w *world, r *rand.Rand) func() { w.removeCgroup(r); return nil }},
	{name: "the keeper is killed", do: func(w *world, _ *rand.Rand) func() { w.killKeeper(); return nil }},
	{name: "the supervisor stands still", do: func(w *world, _ *rand.Rand) func() {
		_ = w.cmd.Process.Signal(syscall.SIGSTOP)
		return func() { _ = w.cmd.Process.Signal(syscall.SIGCONT) }
	}},
	{name: "SIGTERM", ends: true, do: func(w *world, _ *rand.Rand) func() {
		_ = w.cmd.Process.Signal(syscall.SIGTERM)
		return func() { _ = w.cmd.Process.Signal(syscall.SIGCONT); <-w.exited }
	}},
	{name: "the supervisor is killed", ends: true, do: func(w *world, _ *rand.Rand) func() {
		_ = w.cmd.Process.Signal(syscall.SIGKILL)
		return func() { <-w.exited }
	}},
}

// ask returns a fault that a host is asked for.
func ask(method, params string) func(w *world, r *rand.Rand) func() {
	return func(w *world, r *rand.Rand) func() {
		return w.ask(hostName(r.IntN(deaf)), method, params, 1).Wait
	}
}

// spawn returns a fault in which a host has children that stay until its life ends.
func spawn(params string, times int) func(w *world, r *rand.Rand) func() {
	return func(w *world, r *rand.Rand) func() {
		host := hostName(sandboxed + surviving + r.IntN(deaf-sandboxed-surviving)) // ends with the supervisor
		spawned := w.ask(host, "spawn", params, times)
		return func() {
			spawned.Wait()
			w.crash(host)
		}
	}
}

// crash kills the process of a host, and only that: its children are the supervisor's to end. They have
// ended with a supervisor that has.
func (w *world) crash(host string) {
	poll.Within(bound, func() bool {
		if w.over() {
			return true
		}
		ctx, cancel := w.short()
		defer cancel()
		s, err := w.client.Status(ctx, host)
		return err == nil && len(s.Hosts) == 1 && s.Hosts[0].PID != nil && syscall.Kill(*s.Hosts[0].PID, syscall.SIGKILL) == nil
	})
}

// ask makes calls whose outcome does not matter, beside what goes on.
func (w *world) ask(host, method, params string, times int) *sync.WaitGroup {
	var all sync.WaitGroup
	for range times {
		all.Add(1)
		w.clients.done.Go(func() {
			defer all.Done()
			began := time.Now()
			_, err := w.client.Call(w.clients.ctx, control.Request{Host: host, Method: method, Params: json.RawMessage(params), Timeout: 5 * time.Second})
			if took := time.Since(began); took > bound {
				w.clients.bad("%s of %s took %s: %v", method, host, took, err)
			}
		})
	}
	return &all
}

// short is a context for what must not take long.
func (w *world) short() (context.Context, context.CancelFunc) {
	return context.WithTimeout(w.clients.ctx, 5*time.Second)
}

// aside asks for a verb beside what goes on, and returns what waits for its end.
func (w *world) aside(verb func(ctx context.Context, host string) (*record.HostStatus, error), host string) (wait func()) {
	done := make(chan struct{})
	w.clients.done.Go(func() {
		defer close(done)
		ctx, cancel := w.short()
		defer cancel()
		_, _ = verb(ctx, host)
	})
	return func() { <-done }
}

// bad starts a host that cannot start, and stops it in the end.
func (w *world) bad(host string) func() {
	started := w.aside(w.client.Start, host)
	return func() {
		started()
		w.aside(w.client.Stop, host)()
	}
}

// signal sends one to a host.
func (w *world) signal(r *rand.Rand, sig syscall.Signal) {
	name := hostName(r.IntN(hosts))
	for pid, host := range w.marked() {
		if host == name {
			_ = syscall.Kill(pid, sig)
		}
	}
}

// slowConsumer follows the events and does not read them.
func slowConsumer(w *world, _ *rand.Rand) func() {
	conn, err := net.Dial("unix", w.socket)
	if err != nil {
		return nil
	}
	_, _ = fmt.Fprintf(conn, "GET /v1/events?follow=true HTTP/1.1\r\nHost: x\r\n\r\n")
	return func() { _ = conn.Close() }
}

// idleConnections opens connections and says nothing.
func idleConnections(w *world, _ *rand.Rand) func() {
	var all []net.Conn
	for range 1000 {
		conn, err := net.DialTimeout("unix", w.socket, time.Second)
		if err != nil {
			break
		}
		all = append(all, conn)
	}
	return func() {
		for _, c := range all {
			_ = c.Close()
		}
	}
}

// fullDisk fills the disk of the state folder.
func fullDisk(w *world, _ *rand.Rand) func() {
	path := filepath.Join(filepath.Dir(w.state), "full")
	f, err := os.Create(path)
	if err == nil {
		block := make([]byte, 1<<20)
		for err == nil {
			_, err = f.Write(block)
		}
		for err = nil; err == nil; {
			_, err = f.Write(block[:1])
		}
		_ = f.Close()
	}
	return func() {
		poll.Within(bound, func() bool { // the disk may not be writable
			err := os.Remove(path)
			return err == nil || os.IsNotExist(err)
		})
	}
}

func readOnly(w *world, _ *rand.Rand) func() {
	disk := filepath.Dir(w.state)
	// A file that is open for writing forbids it: a bind mount over the disk does not care.
	if err := unix.Mount(disk, disk, "", unix.MS_BIND, ""); err != nil {
		w.t.Fatal(err)
	}
	if err := unix.Mount("", disk, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
		w.t.Fatal(err)
	}
	return func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			w.t.Error(err)
		}
	}
}

// noState takes the state folder away.
func noState(w *world, _ *rand.Rand) func() {
	aside := w.state + ".aside"
	if os.Rename(w.state, aside) != nil {
		return nil
	}
	return func() {
		poll.Within(bound, func() bool { // the disk may not be writable
			if _, err := os.Stat(w.state); err != nil {
				return os.Rename(aside, w.state) == nil
			}
			return os.RemoveAll(aside) == nil
		})
	}
}

// noDescriptors leaves the supervisor no descriptor for anything new.
func noDescriptors(w *world, _ *rand.Rand) func() {
	pid := w.cmd.Process.Pid
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return nil
	}
	return limit(pid, unix.RLIMIT_NOFILE, uint64(len(fds)))
}

// limit sets a limit of another process, and returns what lifts it; nil if it cannot be set.
func limit(pid, resource int, most uint64) (lift func()) {
	var old unix.Rlimit
	if unix.Prlimit(pid, resource, nil, &old) != nil || unix.Prlimit(pid, resource, &unix.Rlimit{Cur: most, Max: old.Max}, nil) != nil {
		return nil
	}
	return func() { _ = unix.Prlimit(pid, resource, &old, nil) }
}

// noMemory leaves the supervisor no memory but what it has. The Go runtime ends a program that
// needs more, and the hosts end with it.
func noMemory(w *world, _ *rand.Rand) func() {
	lift := limit(w.cmd.Process.Pid, unix.RLIMIT_DATA, 1)
	if lift == nil {
		return nil
	}
	return func() {
		lift()
		w.settle()
	}
}

// settle waits until a supervisor answers, or has ended.
func (w *world) settle() {
	poll.Within(bound, func() bool {
		if w.over() {
			return true
		}
		ctx, cancel := w.short()
		defer cancel()
		_, err := w.client.Status(ctx)
		return err == nil
	})
}

// noProcesses leaves the supervisor and its hosts no process and no thread for anything new. The Go
// runtime ends a program that needs another thread.
func noProcesses(w *world, _ *rand.Rand) func() {
	dir := fmt.Sprintf("/sys/fs/cgroup/pids/hostsup-faults-%d", os.Getpid())
	if os.Mkdir(dir, 0o755) != nil {
		return nil // there is no such controller here
	}
	write := func(dir, file, text string) error {
		return os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600)
	}
	// What was forked before is counted elsewhere: one more is one too many.
	_ = write(dir, "cgroup.procs", strconv.Itoa(w.cmd.Process.Pid))
	_ = write(dir, "pids.max", "1")
	w.aside(w.client.Restart, hostName(0))
	return func() {
		_ = write(dir, "pids.max", "max")
		if !poll.Within(bound, func() bool { // what was forked meanwhile is in there, too
			procs, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
			for _, pid := range strings.Fields(string(procs)) {
				_ = write(filepath.Dir(dir), "cgroup.procs", pid)
			}
			return os.Remove(dir) == nil
		}) {
			w.t.Errorf("%s is left", dir)
		}
		w.settle()
	}
}

// second starts another supervisor with the same configuration, which must refuse to run.
func second(w *world, _ *rand.Rand) func() {
	w.clients.done.Go(func() {
		cmd := w.command("run", "--config", w.config())
		ctx, cancel := context.WithTimeout(w.clients.ctx, bound)
		defer cancel()
		cmd2 := exec.CommandContext(ctx, cmd.Path, cmd.Args[1:]...)
		cmd2.Env = cmd.Env
		before := w.cmd.Process.Pid
		out, err := cmd2.CombinedOutput()
		select {
		case <-w.exited: // it may have taken the place of one that has ended
			return
		default:
		}
		if err == nil && w.cmd.Process.Pid == before {
			w.clients.bad("a second supervisor has run: %s", out)
		}
	})
	return nil
}

// removeCgroup kills all that is in the cgroup of a host, and removes it.
func (w *world) removeCgroup(r *rand.Rand) {
	name := hostName(r.IntN(hosts))
	for pid, host := range w.marked() {
		if host != name {
			continue
		}
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
		for line := range strings.Lines(string(b)) {
			_, path, v2 := strings.Cut(strings.TrimSpace(line), "0::")
			if !v2 || path == "/" {
				continue
			}
			for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
				dir := filepath.Join(root, path)
				procs, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
				if err != nil {
					continue
				}
				for _, p := range strings.Fields(string(procs)) {
					if pid, err := strconv.Atoi(p); err == nil {
						_ = syscall.Kill(pid, syscall.SIGKILL)
					}
				}
				poll.Within(time.Second, func() bool { return os.Remove(dir) == nil }) // else the supervisor has
			}
		}
	}
}

// killKeeper kills what ends the hosts when the supervisor does not.
func (w *world) killKeeper() {
	for _, pid := range w.helpers()["hostsup-keeper"] {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
