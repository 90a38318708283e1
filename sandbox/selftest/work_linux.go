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

// work is what a confined process must be able to do, in the form of attempts: "escaped" is right here.
func work() []*attempt {
	// withMounts is a prepare of what takes mounts and a network of its own.
	withMounts := func(what string, prepare func(*stage)) func(*stage) {
		return func(s *stage) {
			needs(s.level != policy.Landlock, what+" takes namespaces")
			prepare(s)
		}
	}
	nothingElse := func(*stage) {}
	cameOut := func(s *stage, r *trial) finding { return r.out(r.saw(s.secret) || r.saw(s.token), "it came out") }
	keeps := func(name string) func(*inside) error {
		return func(in *inside) error {
			check(os.WriteFile(in.path(name), []byte(in.get("token")), 0o600))
			return in.sayFile(name)
		}
	}
	greets := func(in *inside) error { return greet("tcp", in.get("address")) }
	server := serves("tcp", "127.0.0.1:0")
	allows := func(s *stage, p *policy.Policy, _ *policy.Limits) {
		p.Network, p.Allow = policy.NetworkAllow, []string{s.params["address"]}
	}
	return family(classWork, attempt{}, []attempt{
		{name: "read", about: "read a granted file", judge: cameOut, do: reads("read/plain"),
			prepare: func(s *stage) { check(s.file("read/plain", s.secret)) }},
		{name: "write", about: "write to a granted folder; what is made there is the supervisor's user's",
			do: puts("write/new", "$token", os.O_CREATE),
			judge: func(s *stage, r *trial) finding {
				var st syscall.Stat_t
				err := syscall.Stat(s.path("write/new"), &st)
				// Whose it is takes mapped mounts.
				mine := int(st.Uid) == os.Getuid() || s.level == policy.Landlock
				if err == nil && s.read("write/new") == s.token && mine {
					return escaped("it is there")
				}
				return held("content %q, owner %d, %v; %s", s.read("write/new"), st.Uid, err, r.how())
			}},
		{name: "arrange", about: "rename, link and remove in a granted folder, and set modes and times",
			do: on(func(dir string) error {
				now := time.Now()
				return errors.Join(
					os.Mkdir(dir+"/a", 0o755), os.Mkdir(dir+"/b", 0o700), os.WriteFile(dir+"/a/f", []byte("x"), 0o600),
					os.Rename(dir+"/a/f", dir+"/b/f"), os.Symlink("b/f", dir+"/link"), os.Chmod(dir+"/b/f", 0o644),
					os.Chtimes(dir+"/b/f", now, now), os.Truncate(dir+"/b/f", 0), os.RemoveAll(dir+"/b"))
			}, writeDir)},
		{name: "run", about: "start a granted program", judge: cameOut,
			do: func(in *inside) error { return in.child("say", in.get("token")).Run() }},
		{name: "shell", about: "start programs of the system and join them by a pipe", judge: cameOut, do: func(in *inside) error {
			cmd := exec.Command("/bin/sh", "-c", "echo "+in.get("token")+" | cat")
			cmd.Stdout = os.Stdout
			return cmd.Run()
		}},
		{name: "tmp", about: "write and read in /tmp", judge: cameOut, do: keeps("$tmp/mine")},
		{name: "work", about: "write and read in the bounded folder", do: keeps("work/mine"),
			prepare: withMounts("a bounded folder", nothingElse)},
		{name: "devices", about: "use null, zero and random", do: func(in *inside) error {
			check(in.put("/dev/null", "x", 0))
			for _, path := range []string{"/dev/zero", "/dev/urandom"} {
				must(io.ReadFull(in.open(path, os.O_RDONLY), make([]byte, 16)))
			}
			return nil
		}},
		{name: "proc", about: "read about itself in /proc", prepare: withMounts("a /proc of its own", nothingElse),
			do: func(*inside) error { return errOf(os.ReadFile("/proc/self/status")) }},
		{name: "deny-leaves-nothing", about: "leave nothing on the disk of what stood in for a denied file that does not exist",
			prepare: withMounts("a denied file", nothingElse), change: denies("write/none/.env"),
			do: puts("write/other", "x", os.O_CREATE),
			judge: func(s *stage, r *trial) finding {
				gone := func() bool { _, err := os.Lstat(s.path("write/none")); return err != nil }
				if s.read("write/other") == "x" && poll.Within(2*time.Second, gone) {
					return escaped("nothing is left")
				}
				return held("something is there; %s", r.how())
			}},
		{name: "supervisor-unchanged", about: "start without a change to the process that starts it",
			do: func(*inside) error { return nil },
			judge: func(s *stage, _ *trial) finding {
				// While others are being started their children may share our memory.
				now := ""
				if !poll.Within(2*time.Second, func() bool { now = ownState(); return now == s.suite.state }) {
					return held("it is %s and was %s", now, s.suite.state)
				}
				return escaped("%s", now)
			}},
		{name: "children", about: "start, signal and reap children", do: func(in *inside) error {
			kid := in.child("wait", "10000")
			kid.Stdin, _, _ = os.Pipe()
			check(kid.Start())
			check(kid.Process.Kill())
			_ = kid.Wait() // killed
			if ws, ok := kid.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGKILL {
				return fmt.Errorf("it ended with %s", kid.ProcessState)
			}
			return nil
		}},
		{name: "socket-pair", about: "talk over a pair of unix sockets", do: func(*inside) error {
			p := must(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
			must(unix.Write(p[0], []byte("x")))
			return errOf(unix.Read(p[1], make([]byte, 1)))
		}},
		{name: "own-loopback", about: "serve and connect within itself", prepare: withMounts("a loopback of its own", nothingElse),
			do: func(*inside) error {
				l := must(net.Listen("tcp", "127.0.0.1:0"))
				defer l.Close()
				c := must(net.DialTimeout("tcp", l.Addr().String(), time.Second))
				return c.Close()
			}},
		{name: "allowed-address", about: "connect to an address that the policy allows", judge: unheard, do: greets,
			prepare: withMounts("an allow-list", server), change: allows},
		{name: "allowed-address-proxy", about: "connect to it through the proxy", judge: unheard, do: tunnels("$address"),
			prepare: withMounts("an allow-list", server), change: allows},
		{name: "network-host", about: "connect to a server on the machine when the policy allows the network",
			judge: unheard, prepare: server, do: greets,
			change: func(_ *stage, p *policy.Policy, _ *policy.Limits) { p.Network = policy.NetworkHost }},
		{name: "jit", about: "run memory that it has written when the policy allows that", do: writesAndRuns,
			change: func(_ *stage, p *policy.Policy, _ *policy.Limits) { p.JIT = true }},
		{name: "signal", about: "hear a signal from its supervisor",
			do: func(in *inside) error {
				c := make(chan os.Signal, 1)
				signal.Notify(c, syscall.SIGTERM)
				in.pause()
				select {
				case <-c:
					return nil
				case <-time.After(5 * time.Second):
					return errors.New("nothing came")
				}
			},
			watch: func(_ *stage, r *trial) {
				if r.p.child != nil {
					_ = r.p.child.Signal(syscall.SIGTERM)
				} else {
					_ = syscall.Kill(r.p.pid, syscall.SIGTERM)
				}
			}},
		{name: "exit-code", about: "end with a code of its own",
			do: func(*inside) error {
				leave(7)
				return nil
			},
			judge: func(_ *stage, r *trial) finding { return r.out(r.end.code == 7, "exit code 7") }},
		{name: "limits", about: "work within limits", change: limited, do: func(in *inside) error {
			b := fill(memoryLimit / 4)
			err := in.child("say", in.get("token")).Run()
			in.say("%d", len(strings.TrimSpace(string(b[:1]))))
			return err
		}},
	})
}

// ownState is what a start must not change of this process.
func ownState() string {
	var b strings.Builder
	for _, o := range []struct {
		name   string
		option int
	}{{"mdwe", unix.PR_GET_MDWE}, {"dumpable", unix.PR_GET_DUMPABLE}, {"keepcaps", unix.PR_GET_KEEPCAPS}} {
		n, err := unix.PrctlRetInt(o.option, 0, 0, 0, 0)
		fmt.Fprintf(&b, "%s %d %v, ", o.name, n, err)
	}
	var set int32
	err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&set)), 0, 0, 0)
	fmt.Fprintf(&b, "subreaper %d %v, ", set, err)
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
