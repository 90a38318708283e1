//go:build !hostsup_posix

package selftest

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// What an attempt with limits may use. It tries to use about twice that.
const (
	memoryLimit = 128 << 20
	tasksLimit  = 40
	filesLimit  = 64
	sizeLimit   = 16 << 20
	cpuLimit    = 0.1
	// What every confined process may have of signals that wait.
	signalsLimit = 1024

	// Of every bounded folder, in basePolicy.
	folderSize   = 32 << 20
	folderInodes = 300
)

// limited bounds everything but the processor.
func limited(_ *stage, _ *policy.Policy, l *policy.Limits) {
	*l = policy.Limits{
		Memory: memoryLimit, Tasks: tasksLimit, Files: filesLimit, FileSize: sizeLimit, Enforce: policy.BestEffort,
	}
}

// Names of what the sandbox may lack. A limit of memory that is sampled comes late.
var (
	memoryNamed = []string{"memory limit"}
	tasksNamed  = []string{"tasks limit"}
	sizeNamed   = []string{"bounds what is written"}
)

// exhaustion are attempts to use more than the limits say: of memory and disk in each form that the kernel accounts for
// in its own way, of processes, and of what a user has one count of on the whole machine.
func exhaustion() []*attempt {
	return slices.Concat(memories(), folders(), userIDs(), tasks(), dumpsAndCounts(), bigFiles())
}

// repeats does something n times, or until it fails, says how often it went well, and lets the outside look.
func repeats(n int, unit string, do func(in *inside) error) func(*inside) error {
	return func(in *inside) (err error) {
		done := 0
		for ; done < n; done++ {
			if err = do(in); err != nil {
				break
			}
		}
		in.say("%d %s", done, unit)
		in.pause()
		return err
	}
}

// sees is a watch that counts something of the process.
func sees(count func(r *trial) int) func(*stage, *trial) {
	return func(s *stage, r *trial) { s.seen = fmt.Sprint(count(r)) }
}

// tasks are attempts with descriptors, processes and threads, and their time.
func tasks() []*attempt {
	// entries counts what is in a folder of /proc/PID.
	entries := func(folder string) func(*trial) int {
		return func(r *trial) int {
			list, _ := os.ReadDir(fmt.Sprintf("/proc/%d/%s", r.p.pid, folder))
			return len(list)
		}
	}
	thread := func(*inside) error {
		started := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(started)
			select {}
		}()
		<-started
		return nil
	}
	return family(Exhaustion, attempt{change: limited}, []attempt{
		{name: "files", about: "open more files than allowed", do: repeats(2*filesLimit, "files", func(*inside) error {
			return errOf(unix.Open("/dev/null", unix.O_RDONLY, 0))
		}), watch: sees(entries("fd")), judge: atMost(filesLimit, "open files")},
		{name: "processes", about: "start more processes than allowed", named: tasksNamed, alone: true,
			prepare: func(s *stage) {
				path, err := exec.LookPath("sleep")
				need("sleep", err)
				s.set("sleep", path)
			},
			do: repeats(2*tasksLimit, "processes", func(in *inside) error {
				return (&exec.Cmd{Path: in.get("sleep"), Args: []string{"sleep", "20"}}).Start()
			}),
			watch: sees(func(r *trial) int { return len(r.p.pids()) }), judge: atMost(tasksLimit, "processes")},
		{name: "threads", about: "start more threads than allowed", named: tasksNamed, alone: true,
			do: repeats(2*tasksLimit, "threads", thread), watch: sees(entries("task")), judge: atMost(tasksLimit, "threads")},
		{name: "processor", about: "use more of the processors than allowed", alone: true, named: []string{"cpu limit"},
			change: func(_ *stage, _ *policy.Policy, l *policy.Limits) { l.CPU, l.Enforce = cpuLimit, policy.BestEffort },
			do: func(in *inside) error {
				var kids []*exec.Cmd
				for range 8 {
					kid := in.child("spin", "800")
					check(kid.Start())
					kids = append(kids, kid)
				}
				for _, kid := range kids {
					_ = kid.Wait() // its time is what counts
				}
				return nil
			},
			judge: func(_ *stage, r *trial) finding {
				wall := r.end.wall.Seconds()
				share := r.end.cpu.Seconds() / wall
				return finding{out: share > 2*cpuLimit, evidence: fmt.Sprintf("%.2f processors over %.1f s", share, wall)}
			}},
	})
}

// dumpsAndCounts are attempts to have the kernel write the process's memory to the disk, or run a program of the
// machine's as root (what core_pattern names gets every dump, also of a process that allows none), and attempts on what
// a user has one count of.
func dumpsAndCounts() []*attempt {
	const signal = 40
	return family(Exhaustion, attempt{}, []attempt{
		{name: "core-pipe", about: "have the program that the machine runs for core dumps run", change: limited,
			do: func(in *inside) error {
				err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
				in.pause()
				return err
			},
			watch: func(s *stage, r *trial) {
				for line := range strings.Lines(s.read(fmt.Sprintf("/proc/%d/limits", r.p.pid))) {
					if value, ok := strings.CutPrefix(line, "Max core file size"); ok {
						s.seen = "its limit is " + strings.Fields(value)[0]
					}
				}
			},
			judge: sawOnly("its limit is 1")}, // at which the kernel runs no program
		{name: "signals", about: "queue as many signals as its user may have", change: limited, do: func(in *inside) error {
			runtime.LockOSThread() // the thread that the signals wait for
			var set unix.Sigset_t
			set.Val[0] = 1 << (signal - 1)
			check(unix.PthreadSigmask(unix.SIG_BLOCK, &set, nil))
			info := queued(signal)
			return repeats(2*signalsLimit, "signals", func(*inside) error {
				me, thread := uintptr(os.Getpid()), uintptr(unix.Gettid())
				return call(unix.SYS_RT_TGSIGQUEUEINFO, me, thread, signal, uintptr(unsafe.Pointer(&info)))
			})(in)
		}, judge: atMost(signalsLimit, "signals")},
		{name: "inotify", about: "take the inotify instances that its user may have",
			alone: true, named: []string{"inotify instances"},
			prepare: func(s *stage) {
				share := sys.InotifyShare()
				needs(share != 0, "a count of inotify instances")
				s.set("share", share)
			},
			do: func(in *inside) error {
				// A few more than its share prove it, and are no harm to others.
				return repeats(in.num("share")+8, "instances", func(*inside) error {
					return errOf(unix.InotifyInit1(unix.IN_CLOEXEC))
				})(in)
			},
			judge: func(s *stage, r *trial) finding { return atMost(s.num("share"), "instances")(s, r) }},
		{name: "core", about: "leave a core dump behind", change: limited,
			do: func(*inside) error {
				var l unix.Rlimit
				check(unix.Getrlimit(unix.RLIMIT_CORE, &l))
				l.Cur = l.Max
				_ = unix.Setrlimit(unix.RLIMIT_CORE, &l)
				return syscall.Exec("/bin/sh", []string{"sh", "-c", "kill -ABRT $$"}, nil)
			},
			judge: func(_ *stage, r *trial) finding { return r.out(r.end.core, "the kernel dumped its memory") }},
	})
}

// bigFiles are attempts to make a larger file than allowed.
func bigFiles() []*attempt {
	big := func(do func(f *os.File) error) func(*inside) error {
		return on(func(path string) error {
			f := must(os.Create(path))
			defer f.Close()
			return do(f)
		}, "write/big")
	}
	tooBig := found(func(s *stage) string {
		info, err := os.Stat(s.path("write/big"))
		if err != nil || info.Size() <= sizeLimit {
			return ""
		}
		return fmt.Sprintf("it is %d MiB long", info.Size()>>20)
	})
	return family(Exhaustion, attempt{change: limited, judge: tooBig}, []attempt{
		{name: "file-size", about: "write a larger file than allowed",
			do: big(func(f *os.File) error { return pour(f, 2*sizeLimit, nil) })},
		{name: "file-size-sparse", about: "make one larger than allowed without writing",
			do: big(func(f *os.File) error { return f.Truncate(1 << 30) })},
		{name: "file-size-reserve", about: "reserve more room than allowed for one",
			do: big(func(f *os.File) error { return unix.Fallocate(int(f.Fd()), 0, 0, 2*sizeLimit) })},
	})
}

// folders are attempts to put more into a bounded folder than fits.
func folders() []*attempt {
	const sizeMiB = folderSize >> 20
	var rows []attempt
	for _, f := range []struct{ name, path string }{{"tmp", "$tmp"}, {"work", workDir}} {
		rows = append(rows, attempt{
			name: f.name + "-bytes", about: "fill " + f.name + " beyond its size", judge: atMost(sizeMiB, "MiB"),
			do: func(in *inside) error {
				out := must(os.Create(in.path(f.path + "/fill")))
				defer out.Close()
				return pour(out, 3*folderSize, in.sayMiB)
			},
		}, attempt{
			name: f.name + "-inodes", about: "make more files in " + f.name + " than fit", judge: atMost(folderInodes, "files"),
			do: func(in *inside) error {
				for i := range 2 * folderInodes {
					check(os.WriteFile(in.path(fmt.Sprintf("%s/f%d", f.path, i)), nil, 0o600))
					if i%100 == 99 {
						in.say("%d files", i+1)
					}
				}
				return nil
			},
		})
	}
	return family(Exhaustion, attempt{named: sizeNamed}, rows)
}

// userIDs is the attempt to take the user id that another start needs: by the name of a socket, and by a lock of the
// file that the ids are locked in.
func userIDs() []*attempt {
	return family(Exhaustion, attempt{}, []attempt{{
		name: "user-ids", about: "keep root from starting others by taking the user id that they need",
		change: func(_ *stage, p *policy.Policy, _ *policy.Limits) { p.Network = policy.NetworkHost },
		prepare: func(s *stage) {
			s.set("id", 1_500_000_000+rand.IntN(1<<28)) // nobody else's
			check(startAs(s))                           // the file has to be there before it can be locked
		},
		do: func(in *inside) error {
			id := in.num("id")
			name, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err == nil {
				err = unix.Bind(name, &unix.SockaddrUnix{Name: fmt.Sprintf("@hostsup-users-%d", id)})
			}
			file, err2 := unix.Open("/run/hostsup/users", unix.O_RDWR, 0)
			if err2 == nil {
				lock := &unix.Flock_t{Type: unix.F_WRLCK, Start: int64(id), Len: 1}
				err2 = unix.FcntlFlock(uintptr(file), unix.F_OFD_SETLK, lock)
			}
			in.pause()
			return errors.Join(err, err2)
		},
		watch: func(s *stage, _ *trial) {
			// A start can fail for want of something else on a busy machine.
			var err error
			poll.Within(5*time.Second, func() bool { err = startAs(s); return err == nil || errors.Is(err, sandbox.ErrNoUser) })
			if err != nil {
				s.seen = err.Error()
			}
		},
		judge: func(s *stage, r *trial) finding {
			if !r.over && s.seen == "" {
				return unclear("%s", r.how())
			}
			return watched(s, r)
		},
	}})
}

// startAs starts a confined process that needs the user id of the stage.
func startAs(s *stage) error {
	l, err := sandbox.NewLauncher(sandbox.Options{Users: sandbox.Range{First: s.num("id"), Count: 1}})
	if err != nil {
		return err
	}
	p := basePolicy(s)
	p.Level, p.Tmp, p.Work = policy.Landlock, policy.Tmp{}, policy.Work{}
	c, err := l.Start(&sandbox.Command{Name: "selftest", Path: "/bin/true", Args: []string{"true"}, Policy: &p})
	if err == nil {
		<-c.Done()
		c.Release()
	}
	return errors.Join(err, l.Close())
}

// memories are attempts to use more memory than allowed, in each form of it that is counted in a place of its own: of a
// process, of many, and what the kernel keeps for them in files, segments and connections.
func memories() []*attempt {
	const most = memoryLimit * 5 / 4 >> 20 // MiB; a limit that is sampled comes late
	segments := func(detach bool) func(*inside) error {
		return func(in *inside) error { return fillSegments(in, detach) }
	}
	common := attempt{named: memoryNamed, change: limited, watch: staysLarge, judge: atMost(most, "MiB")}
	return family(Exhaustion, common, []attempt{
		{name: "memory", about: "use more memory than allowed in one process", do: func(in *inside) error {
			b := fill(2 * memoryLimit)
			in.pause()
			runtime.KeepAlive(b)
			return nil
		}},
		{name: "memory-shared-out", about: "use more memory than allowed, some in each of many processes",
			do: func(in *inside) error {
				const each = 48
				for n := 0; n < 2*memoryLimit>>20; n += each {
					kid := in.child("hold", strconv.Itoa(each))
					in.files = append(in.files, must(kid.StdinPipe()).(*os.File))
					kid.Stdout = nil
					filled := must(kid.StdoutPipe())
					check(kid.Start())
					_, _ = filled.Read(make([]byte, 1)) // nothing comes of one that is killed
				}
				in.pause()
				return nil
			}},
		{name: "memory-memfd", about: "use more memory than allowed in a file in memory", do: func(in *inside) error {
			return pour(memoryFile(unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL), 2*memoryLimit, in.sayMiB)
		}},
		{name: "memory-system-v", about: "use more memory than allowed in System V segments", do: segments(false)},
		{name: "memory-system-v-detached", about: "use more memory than allowed in segments that it does not keep attached",
			named: []string{}, do: segments(true)}, // sampled or not, it is not to be missed
		{name: "memory-tcp", about: "use more memory than allowed in what waits in TCP connections", do: fillTCP,
			change: func(_ *stage, _ *policy.Policy, l *policy.Limits) {
				// No file limit: connections are what it takes.
				*l = policy.Limits{Memory: memoryLimit, Enforce: policy.BestEffort}
			}},
		{name: "memory-shm", about: "use more memory than allowed in /dev/shm", do: func(in *inside) error {
			const each = 8
			for i := 0; i < 2*memoryLimit>>20; i += each {
				f := in.open(fmt.Sprintf("/dev/shm/%s${mark}-%d", partName, i), os.O_CREATE|os.O_WRONLY)
				defer func() { _ = os.Remove(f.Name()) }()
				check(pour(f, each<<20, func(mib int) { in.sayMiB(i + mib) }))
			}
			return nil
		}},
	})
}

// staysLarge is a watch for whether a tree that uses too much lives on with it: it sees how many MiB that are. Pages of
// files are left out: those of a program that many processes run are in each one's resident memory, and in memory once.
func staysLarge(s *stage, r *trial) {
	select {
	case <-r.p.done:
		return
	case <-time.After(time.Second):
	}
	sum := 0 // KiB
	for _, pid := range r.p.pids() {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // it may be gone
		for line := range strings.Lines(string(status)) {
			var n int
			if _, err := fmt.Sscanf(line, "RssAnon: %d kB", &n); err == nil {
				sum += n
			} else if _, err := fmt.Sscanf(line, "RssShmem: %d kB", &n); err == nil {
				sum += n
			}
		}
	}
	s.seen = fmt.Sprint((sum + 1<<10 - 1) >> 10)
}

// pour writes n bytes to w, and tells how many MiB it has written.
func pour(w io.Writer, n int, told func(mib int)) error {
	b := make([]byte, 1<<20)
	for i := range b {
		b[i] = byte(i)
	}
	for done := 0; done < n; done += len(b) {
		if _, err := w.Write(b); err != nil {
			return err
		}
		if told != nil {
			told(done>>20 + 1)
		}
	}
	return nil
}

// fillTCP writes to connections of its own that nobody reads from.
func fillTCP(in *inside) error {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	b := make([]byte, 64<<10)
	const patience = 200 * time.Millisecond
	// Where there is a limit the kernel lets ever less through, and never nothing.
	end := time.Now().Add(4 * time.Second)
	for n, quiet := 0, 0; n < 2*memoryLimit && quiet < 20 && time.Now().Before(end); {
		c := must(net.DialTimeout("tcp", l.Addr().String(), patience))
		defer c.Close()
		_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(patience))
		other := must(l.Accept())
		defer other.Close()
		was := n
		for time.Now().Before(end) {
			_ = c.SetWriteDeadline(time.Now().Add(20 * time.Millisecond))
			m, err := c.Write(b)
			n += m
			if err != nil {
				break
			}
		}
		if quiet++; n>>20 > was>>20 {
			quiet = 0
		}
		in.sayMiB(n >> 20)
	}
	return nil
}

// fillSegments fills System V segments. Those that stay attached are removed with their process, those that are detached
// when all are full.
func fillSegments(in *inside, detach bool) error {
	const each = 16 << 20
	for n := 0; n < 2*memoryLimit; n += each {
		id := must(unix.SysvShmGet(unix.IPC_PRIVATE, each, unix.IPC_CREAT|0o600))
		remove := func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) }
		defer remove()
		b := must(unix.SysvShmAttach(id, 0, 0))
		if !detach {
			remove()
		}
		for i := 0; i < each; i += page {
			b[i] = 1
		}
		if detach {
			check(unix.SysvShmDetach(b))
		}
		in.sayMiB((n + each) >> 20)
	}
	return nil
}
