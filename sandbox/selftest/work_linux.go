//go:build !hostsup_posix

package selftest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// classWork is the class of what must work; no attempt belongs to it.
const classWork Class = "work"

// work is what a confined process must be able to do, in the form of attempts:
// "escaped" is right here.
func work() []*attempt {
	var list []*attempt
	able := func(name, about string, do func(in *inside) error) *attempt {
		list = append(list, &attempt{class: classWork, name: name, about: about, prepare: token, do: do})
		return list[len(list)-1]
	}
	seen := func(s *stage, r *run1) finding {
		if r.saw(s.secret) {
			return escaped("it came out")
		}
		return held("%s", r.how())
	}
	// mounted: only where there are mounts and a network of its own.
	withMounts := func(what string, prepare func(*stage) error) func(*stage) error {
		return func(s *stage) error {
			if s.level == policy.Landlock {
				return missing(what + " takes namespaces")
			}
			return prepare(s)
		}
	}
	at := able("read", "read a granted file", func(in *inside) error { return in.sayFile(in.get("read") + "/plain") })
	at.prepare = func(s *stage) error { return s.file("read/plain", s.secret) }
	at.judge = seen
	able("write", "write to a granted folder; what is made there is the supervisor's user's", func(in *inside) error {
		return put(in.get("write")+"/new", in.get("token"), os.O_CREATE)
	}).judge = func(s *stage, r *run1) finding {
		var st syscall.Stat_t
		err := syscall.Stat(s.path("write/new"), &st)
		// Whose it is takes mapped mounts.
		mine := int(st.Uid) == os.Getuid() || s.level == policy.Landlock
		if err == nil && s.read("write/new") == s.secret && mine {
			return escaped("it is there")
		}
		return held("content %q, owner %d, %v; %s", s.read("write/new"), st.Uid, err, r.how())
	}
	able("arrange", "rename, link and remove in a granted folder, and set modes and times", func(in *inside) error {
		dir := in.get("write")
		now := time.Now()
		return errors.Join(
			os.Mkdir(dir+"/a", 0o755), os.Mkdir(dir+"/b", 0o700), os.WriteFile(dir+"/a/f", []byte("x"), 0o600),
			os.Rename(dir+"/a/f", dir+"/b/f"), os.Symlink("b/f", dir+"/link"), os.Chmod(dir+"/b/f", 0o644),
			os.Chtimes(dir+"/b/f", now, now), os.Truncate(dir+"/b/f", 0), os.RemoveAll(dir+"/b"))
	})
	able("run", "start a granted program", func(in *inside) error { return in.child("say", in.get("token")).Run() }).judge = seen
	able("shell", "start programs of the system and join them by a pipe", func(in *inside) error {
		cmd := exec.Command("/bin/sh", "-c", "echo "+in.get("token")+" | cat")
		cmd.Stdout = os.Stdout
		return cmd.Run()
	}).judge = seen
	able("tmp", "write and read in /tmp", func(in *inside) error {
		path := in.get("tmp") + "/mine"
		check(os.WriteFile(path, []byte(in.get("token")), 0o600))
		return in.sayFile(path)
	}).judge = seen
	able("work", "write and read in the bounded folder", func(in *inside) error {
		path := in.get("work") + "/mine"
		check(os.WriteFile(path, []byte(in.get("token")), 0o600))
		return in.sayFile(path)
	}).prepare = withMounts("a bounded folder", token)
	able("devices", "use null, zero and random", func(*inside) error {
		check(put("/dev/null", "x", 0))
		for _, path := range []string{"/dev/zero", "/dev/urandom"} {
			f := must(os.Open(path))
			_, err := io.ReadFull(f, make([]byte, 16))
			f.Close()
			if err != nil {
				return err
			}
		}
		return nil
	})
	able("proc", "read about itself in /proc", func(*inside) error {
		_, err := os.ReadFile("/proc/self/status")
		return err
	}).prepare = withMounts("a /proc of its own", token)
	at = able("deny-leaves-nothing", "leave nothing on the disk of what stood in for a denied file that does not exist", func(in *inside) error {
		return put(in.get("write")+"/other", "x", os.O_CREATE)
	})
	at.prepare = withMounts("a denied file", token)
	at.change = func(s *stage, p *policy.Policy, _ *policy.Limits) { p.Deny = []string{s.path("write/none/.env")} }
	at.judge = func(s *stage, r *run1) finding {
		if s.read("write/other") == "x" && poll.Within(2*time.Second, func() bool { _, err := os.Lstat(s.path("write/none")); return err != nil }) {
			return escaped("nothing is left")
		}
		return held("something is there; %s", r.how())
	}
	able("supervisor-unchanged", "start without a change to the process that starts it", func(*inside) error { return nil }).judge = func(s *stage, _ *run1) finding {
		// While others are being started their children may share our memory.
		now := ""
		if !poll.Within(2*time.Second, func() bool { now = ownState(); return now == s.suite.state }) {
			return held("it is %s and was %s", now, s.suite.state)
		}
		return escaped("%s", now)
	}
	able("children", "start, signal and reap children", func(in *inside) error {
		kid := in.child("wait", "10000")
		kid.Stdin, _, _ = os.Pipe()
		check(kid.Start())
		check(kid.Process.Kill())
		_ = kid.Wait() // killed
		if ws, ok := kid.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGKILL {
			return fmt.Errorf("it ended with %s", kid.ProcessState)
		}
		return nil
	})
	able("socket-pair", "talk over a pair of unix sockets", func(*inside) error {
		p := must(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
		must(unix.Write(p[0], []byte("x")))
		_, err := unix.Read(p[1], make([]byte, 1))
		return err
	})
	able("own-loopback", "serve and connect within itself", func(*inside) error {
		l := must(net.Listen("tcp", "127.0.0.1:0"))
		defer l.Close()
		c, err := net.DialTimeout("tcp", l.Addr().String(), time.Second)
		if err == nil {
			c.Close()
		}
		return err
	}).prepare = withMounts("a loopback of its own", token)
	at = able("allowed-address", "connect to an address that the policy allows", func(in *inside) error { return says("tcp", in.get("address")) })
	at.prepare = withMounts("an allow-list", serves("tcp", "127.0.0.1:0"))
	at.change = func(s *stage, p *policy.Policy, _ *policy.Limits) {
		p.Network, p.Allow = policy.NetworkAllow, []string{s.params["address"]}
	}
	at.judge = unheard
	at = able("allowed-address-proxy", "connect to it through the proxy", func(in *inside) error { return tunnel(in.get("address")) })
	at.prepare, at.change, at.judge = list[len(list)-2].prepare, list[len(list)-2].change, unheard
	at = able("network-host", "connect to a server on the machine when the policy allows the network", func(in *inside) error { return says("tcp", in.get("address")) })
	at.prepare, at.judge = serves("tcp", "127.0.0.1:0"), unheard
	at.change = func(_ *stage, p *policy.Policy, _ *policy.Limits) { p.Network = policy.NetworkHost }
	at = able("jit", "run memory that it has written when the policy allows that", func(in *inside) error {
		p := must(mmap(0, page, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON, -1))
		if machineCode == nil {
			return nil
		}
		copy(bytesAt(p, page), machineCode)
		return codeAt(in, p)
	})
	at.change = func(_ *stage, p *policy.Policy, _ *policy.Limits) { p.JIT = true }
	able("signal", "hear a signal from its supervisor", func(in *inside) error {
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		in.pause()
		select {
		case <-c:
			return nil
		case <-time.After(5 * time.Second):
			return errors.New("nothing came")
		}
	}).watch = func(_ *stage, r *run1) {
		if r.p.child != nil {
			_ = r.p.child.Signal(syscall.SIGTERM)
		} else {
			_ = syscall.Kill(r.p.pid, syscall.SIGTERM)
		}
	}
	able("exit-code", "end with a code of its own", func(*inside) error {
		leave(7)
		return nil
	}).judge = func(_ *stage, r *run1) finding {
		if r.end.code == 7 {
			return escaped("exit code 7")
		}
		return held("%s", r.how())
	}
	able("limits", "work within limits", func(in *inside) error {
		b := fill(memoryLimit / 4)
		err := in.child("say", in.get("token")).Run()
		in.say("%d", len(strings.TrimSpace(string(b[:1]))))
		return err
	}).change = limited
	return list
}

// ownState is what a start must not change of this process.
func ownState() string {
	var b strings.Builder
	for _, o := range []struct {
		name   string
		option int
	}{{"mdwe", unix.PR_GET_MDWE}, {"dumpable", unix.PR_GET_DUMPABLE}, {"keepcaps", unix.PR_GET_KEEPCAPS}, {"subreaper", unix.PR_GET_CHILD_SUBREAPER}} {
		var n int
		var err error
		if o.option == unix.PR_GET_CHILD_SUBREAPER {
			var set int32
			err = unix.Prctl(o.option, uintptr(unsafe.Pointer(&set)), 0, 0, 0)
			n = int(set)
		} else {
			n, err = unix.PrctlRetInt(o.option, 0, 0, 0, 0)
		}
		fmt.Fprintf(&b, "%s %d %v, ", o.name, n, err)
	}
	for _, field := range []string{"Uid", "Groups", "NoNewPrivs", "Seccomp", "CapEff", "CapAmb", "CapBnd", "Umask"} {
		fmt.Fprintf(&b, "%s %s, ", field, status(os.Getpid(), field))
	}
	for _, l := range []int{unix.RLIMIT_NPROC, unix.RLIMIT_FSIZE, unix.RLIMIT_AS, unix.RLIMIT_CORE} {
		var r unix.Rlimit
		_ = unix.Getrlimit(l, &r)
		fmt.Fprintf(&b, "limit %d %d:%d, ", l, r.Cur, r.Max)
	}
	dir, _ := os.Getwd()
	return b.String() + dir
}
