//go:build !hostsup_posix

package selftest

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/internal/sys"
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
	*l = policy.Limits{Memory: memoryLimit, Tasks: tasksLimit, Files: filesLimit, FileSize: sizeLimit, Enforce: policy.BestEffort}
}

// exhaustion are attempts to use more than the limits say.
func exhaustion() []*attempt {
	list := append(memories(), folders()...)
	list = append(list, userIDs())
	list = append(list, &attempt{
		class: Exhaustion, name: "files", about: "open more files than allowed", change: limited, prepare: token,
		do: func(in *inside) error {
			var err error
			for range 2 * filesLimit {
				if _, err = unix.Open("/dev/null", unix.O_RDONLY, 0); err != nil {
					break
				}
			}
			in.pause()
			return err
		},
		watch: func(s *stage, r *run1) { s.vars["n"] = entries(r.p.pid, "fd") },
		judge: func(s *stage, r *run1) finding { return counted(s, r, filesLimit, "open files") },
	}, &attempt{
		class: Exhaustion, name: "processes", about: "start more processes than allowed", change: limited, named: []string{"tasks limit"}, alone: true,
		do: func(in *inside) error {
			var err error
			for range 2 * tasksLimit {
				cmd := &exec.Cmd{Path: in.get("sleep"), Args: []string{"sleep", "20"}}
				if err = cmd.Start(); err != nil {
					break
				}
			}
			in.pause()
			return err
		},
		prepare: func(s *stage) error {
			path, err := exec.LookPath("sleep")
			if err != nil {
				return missing("sleep")
			}
			s.set("sleep", path)
			return nil
		},
		watch: func(s *stage, r *run1) { s.vars["n"] = len(r.p.pids()) },
		judge: func(s *stage, r *run1) finding { return counted(s, r, tasksLimit, "processes") },
	}, &attempt{
		class: Exhaustion, name: "threads", about: "start more threads than allowed", change: limited, named: []string{"tasks limit"}, alone: true,
		do: func(in *inside) error {
			started := make(chan struct{})
			for range 2 * tasksLimit {
				go func() {
					runtime.LockOSThread()
					started <- struct{}{}
					select {}
				}()
				<-started
			}
			in.pause()
			return nil
		},
		watch: func(s *stage, r *run1) { s.vars["n"] = entries(r.p.pid, "task") },
		judge: func(s *stage, r *run1) finding { return counted(s, r, tasksLimit, "threads") },
	}, &attempt{
		class: Exhaustion, name: "processor", about: "use more of the processors than allowed", alone: true,
		change: func(_ *stage, _ *policy.Policy, l *policy.Limits) { l.CPU, l.Enforce = cpuLimit, policy.BestEffort }, named: []string{"cpu limit"},
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
		judge: func(_ *stage, r *run1) finding {
			share := r.end.cpu.Seconds() / r.wall.Seconds()
			if share > 2*cpuLimit {
				return escaped("%.2f processors over %.1f s", share, r.wall.Seconds())
			}
			return held("%.2f processors over %.1f s", share, r.wall.Seconds())
		},
	}, &attempt{
		class: Exhaustion, name: "core-pipe", about: "have the program that the machine runs for core dumps run", change: limited,
		do: func(in *inside) error {
			err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
			in.pause()
			return err
		},
		watch: func(s *stage, r *run1) {
			limits, _ := os.ReadFile(fmt.Sprintf("/proc/%d/limits", r.p.pid))
			for line := range strings.Lines(string(limits)) {
				if value, ok := strings.CutPrefix(line, "Max core file size"); ok {
					s.vars["core"] = strings.Fields(value)[0]
				}
			}
		},
		judge: func(s *stage, r *run1) finding {
			const noPipe = "1" // at which the kernel runs no program
			switch l, ok := s.vars["core"].(string); {
			case !ok:
				return unclear("nobody has looked: %s", r.how())
			case l != noPipe:
				return escaped("its limit is %s", l)
			}
			return held("its limit is %s", noPipe)
		},
	}, &attempt{
		class: Exhaustion, name: "signals", about: "queue as many signals as its user may have", change: limited,
		do: func(in *inside) error {
			runtime.LockOSThread() // the thread that the signals wait for
			var set unix.Sigset_t
			const signal = 40
			set.Val[0] = 1 << (signal - 1)
			check(unix.PthreadSigmask(unix.SIG_BLOCK, &set, nil))
			n := 0
			var err error
			for ; n < 2*signalsLimit && err == nil; n++ {
				err = queueForThread(signal)
			}
			in.say("%d signals", n)
			return err
		},
		judge: func(_ *stage, r *run1) finding {
			var n int
			_, _ = fmt.Sscanf(r.last(), "%d signals", &n)
			if n > signalsLimit+1 {
				return escaped("%s", r.last())
			}
			return held("%s", r.last())
		},
	}, &attempt{
		class: Exhaustion, name: "inotify", about: "take the inotify instances that its user may have", alone: true,
		named: []string{"inotify instances"},
		prepare: func(s *stage) error {
			share := sys.InotifyShare()
			if share == 0 {
				return missing("a count of inotify instances")
			}
			s.set("share", share)
			return nil
		},
		do: func(in *inside) error {
			n, share := 0, in.num("share")
			var err error
			// A few more than its share prove it, and are no harm to others.
			for ; n < share+8 && err == nil; n++ {
				_, err = unix.InotifyInit1(unix.IN_CLOEXEC)
			}
			if err != nil {
				n--
			}
			in.say("%d instances", n)
			return err
		},
		judge: func(s *stage, r *run1) finding {
			var n, share int
			_, _ = fmt.Sscanf(r.last(), "%d instances", &n)
			_, _ = fmt.Sscan(s.params["share"], &share)
			if n > share {
				return escaped("%d, and its share is %d", n, share)
			}
			return held("%d, and its share is %d", n, share)
		},
	}, &attempt{
		class: Exhaustion, name: "core", about: "leave a core dump behind", change: limited,
		do: func(*inside) error {
			var l unix.Rlimit
			check(unix.Getrlimit(unix.RLIMIT_CORE, &l))
			l.Cur = l.Max
			_ = unix.Setrlimit(unix.RLIMIT_CORE, &l)
			return syscall.Exec("/bin/sh", []string{"sh", "-c", "kill -ABRT $$"}, nil)
		},
		judge: func(_ *stage, r *run1) finding {
			if r.end.core {
				return escaped("the kernel dumped its memory")
			}
			return held("%s", r.how())
		},
	})
	big := func(name, about string, do func(f *os.File) error) {
		list = append(list, &attempt{
			class: Exhaustion, name: name, about: about, change: limited,
			do: func(in *inside) error {
				f := must(os.Create(in.get("write") + "/big"))
				defer f.Close()
				return do(f)
			},
			judge: func(s *stage, r *run1) finding {
				info, err := os.Stat(s.path("write/big"))
				if err == nil && info.Size() > sizeLimit {
					return escaped("it is %d MiB long", info.Size()>>20)
				}
				return held("%s", r.how())
			},
		})
	}
	big("file-size", "write a larger file than allowed", func(f *os.File) error { return pour(f, 2*sizeLimit, nil) })
	big("file-size-sparse", "make one larger than allowed without writing", func(f *os.File) error { return f.Truncate(1 << 30) })
	big("file-size-reserve", "reserve more room than allowed for one", func(f *os.File) error {
		return unix.Fallocate(int(f.Fd()), 0, 0, 2*sizeLimit)
	})
	return list
}

// entries counts what is in a folder of /proc/PID.
func entries(pid int, folder string) int {
	list, _ := os.ReadDir(fmt.Sprintf("/proc/%d/%s", pid, folder))
	return len(list)
}

func counted(s *stage, r *run1, limit int, what string) finding {
	if n, ok := s.vars["n"].(int); ok && n > limit {
		return escaped("%d %s, with %d allowed", n, what, limit)
	}
	return held("%s", r.how())
}

// folders are attempts to put more into a bounded folder than fits.
func folders() []*attempt {
	const sizeMiB, inodes = folderSize >> 20, folderInodes
	var list []*attempt
	for _, f := range []struct{ name, folder string }{{"tmp", "tmp"}, {"work", "work"}} {
		list = append(list, &attempt{
			class: Exhaustion, name: f.name + "-bytes", about: "fill " + f.name + " beyond its size", named: []string{"bounds what is written"},
			do: func(in *inside) error {
				out := must(os.Create(in.get(f.folder) + "/fill"))
				defer out.Close()
				return pour(out, 3*sizeMiB<<20, func(mib int) { in.say("%d MiB", mib) })
			},
			judge: func(_ *stage, r *run1) finding {
				var mib int
				_, _ = fmt.Sscanf(r.last(), "%d MiB", &mib)
				if mib > sizeMiB {
					return escaped("%d MiB, and %d are allowed", mib, sizeMiB)
				}
				return held("%s", r.how())
			},
		}, &attempt{
			class: Exhaustion, name: f.name + "-inodes", about: "make more files in " + f.name + " than fit", named: []string{"bounds what is written"},
			do: func(in *inside) error {
				for i := range 2 * inodes {
					check(os.WriteFile(in.get(f.folder)+"/f"+strconv.Itoa(i), nil, 0o600))
					if i%100 == 99 {
						in.say("%d files", i+1)
					}
				}
				return nil
			},
			judge: func(_ *stage, r *run1) finding {
				var n int
				_, _ = fmt.Sscanf(r.last(), "%d files", &n)
				if n > inodes {
					return escaped("%d files, and %d are allowed", n, inodes)
				}
				return held("%s", r.how())
			},
		})
	}
	return list
}
