//go:build !hostsup_posix

package selftest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

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

	// Of every bounded folder, in basePolicy.
	folderSize   = 32 << 20
	folderInodes = 300
)

// limited bounds everything but the processor.
func limited(_ *stage, _ *policy.Policy, l *policy.Limits) {
	*l = policy.Limits{Memory: memoryLimit, Tasks: tasksLimit, Files: filesLimit, FileSize: sizeLimit}
}

// exhaustion are attempts to use more than the limits say.
func exhaustion() []*attempt {
	list := append(memories(), folders()...)
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
		change: func(_ *stage, _ *policy.Policy, l *policy.Limits) { l.CPU = cpuLimit }, named: []string{"cpu limit"},
		do: func(in *inside) error {
			var kids []*exec.Cmd
			for range 8 {
				kid := in.child("spin", "800")
				if err := kid.Start(); err != nil {
					return err
				}
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
		class: Exhaustion, name: "core", about: "leave a core dump behind", change: limited,
		do: func(*inside) error {
			var l unix.Rlimit
			if err := unix.Getrlimit(unix.RLIMIT_CORE, &l); err != nil {
				return err
			}
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
				f, err := os.Create(in.get("write") + "/big")
				if err != nil {
					return err
				}
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

// memoryNamed: a limit that is sampled comes late.
var memoryNamed = []string{"memory limit"}

// memories are attempts to use more memory than allowed.
func memories() []*attempt {
	// stays watches whether a tree that uses too much lives on with it.
	stays := func(s *stage, r *run1) {
		end := time.Now().Add(time.Second)
		for time.Now().Before(end) {
			select {
			case <-r.p.done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
		var sum int64
		for _, pid := range r.p.pids() {
			if rss, _, err := sys.ProcStat(pid); err == nil {
				sum += rss
			}
		}
		s.vars["rss"] = sum
	}
	tooMuch := func(s *stage, r *run1) finding {
		if rss, _ := s.vars["rss"].(int64); rss > memoryLimit*5/4 {
			return escaped("it lives with %d MiB, and %d are allowed", rss>>20, memoryLimit>>20)
		}
		return held("%s", r.how())
	}
	list := []*attempt{
		{
			class: Exhaustion, name: "memory", about: "use more memory than allowed in one process", change: limited, named: memoryNamed,
			do: func(in *inside) error {
				b := fill(2 * memoryLimit)
				in.pause()
				runtime.KeepAlive(b)
				return nil
			},
			watch: stays, judge: tooMuch,
		},
		{
			class: Exhaustion, name: "memory-shared-out", about: "use more memory than allowed, some in each of many processes", change: limited, named: memoryNamed,
			do: func(in *inside) error {
				const each = 48
				for n := 0; n < 2*memoryLimit>>20; n += each {
					kid := in.child("hold", strconv.Itoa(each))
					kid.Stdin, _, _ = os.Pipe()
					if err := kid.Start(); err != nil {
						return err
					}
				}
				in.pause()
				return nil
			},
			watch: stays, judge: tooMuch,
		},
	}
	// filled makes one that fills something that takes memory without being a
	// process's own.
	filled := func(name, about string, fill func(in *inside, told func(mib int)) error) {
		list = append(list, &attempt{
			class: Exhaustion, name: name, about: about, change: limited, named: memoryNamed,
			do: func(in *inside) error {
				return fill(in, func(mib int) { in.say("%d MiB", mib) })
			},
			judge: func(_ *stage, r *run1) finding {
				var mib int
				_, _ = fmt.Sscanf(r.last(), "%d MiB", &mib)
				if mib > memoryLimit*5/4>>20 {
					return escaped("%s, and %d are allowed", r.last(), memoryLimit>>20)
				}
				return held("%s", r.how())
			},
		})
	}
	filled("memory-memfd", "use more memory than allowed in a file in memory", func(_ *inside, told func(int)) error {
		fd, err := unix.MemfdCreate("fill", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
		if err != nil {
			return fmt.Errorf("memfd_create: %w", err)
		}
		return pour(os.NewFile(uintptr(fd), "memfd"), 2*memoryLimit, told)
	})
	filled("memory-system-v", "use more memory than allowed in System V segments", func(_ *inside, told func(int)) error {
		const each = 16 << 20
		var ids []int
		defer func() {
			for _, id := range ids {
				_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
			}
		}()
		for n := 0; n < 2*memoryLimit; n += each {
			id, err := unix.SysvShmGet(unix.IPC_PRIVATE, each, unix.IPC_CREAT|0o600)
			if err != nil {
				return err
			}
			ids = append(ids, id)
			b, err := unix.SysvShmAttach(id, 0, 0)
			_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
			if err != nil {
				return err
			}
			for i := 0; i < each; i += page {
				b[i] = 1
			}
			told((n + each) >> 20)
		}
		return nil
	})
	filled("memory-shm", "use more memory than allowed in /dev/shm", func(in *inside, told func(int)) error {
		path := "/dev/shm/" + partName + in.get("mark")
		var err error
		for i := 0; i < 2*memoryLimit/(8<<20) && err == nil; i++ {
			var f *os.File
			f, err = os.OpenFile(path+strconv.Itoa(i), os.O_CREATE|os.O_WRONLY, 0o600)
			if err == nil {
				defer func() { _ = os.Remove(f.Name()) }()
				err = pour(f, 8<<20, func(mib int) { told(i*8 + mib) })
				f.Close()
			}
		}
		return err
	})
	return list
}

// folders are attempts to put more into a bounded folder than fits.
func folders() []*attempt {
	const sizeMiB, inodes = folderSize >> 20, folderInodes
	var list []*attempt
	for _, f := range []struct{ name, folder string }{{"tmp", "tmp"}, {"work", "work"}} {
		list = append(list, &attempt{
			class: Exhaustion, name: f.name + "-bytes", about: "fill " + f.name + " beyond its size", named: []string{"bounds what is written"},
			do: func(in *inside) error {
				out, err := os.Create(in.get(f.folder) + "/fill")
				if err != nil {
					return err
				}
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
					if err := os.WriteFile(in.get(f.folder)+"/f"+strconv.Itoa(i), nil, 0o600); err != nil {
						return err
					}
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
