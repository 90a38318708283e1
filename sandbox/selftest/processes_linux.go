//go:build !hostsup_posix

package selftest

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// others are attempts on processes outside.
func others() []*attempt {
	var list []*attempt
	harms := func(name, about string, do func(in *inside, pid int) error) *attempt {
		at := &attempt{
			class: Processes, name: name, about: about, prepare: needVictim, judge: unharmed,
			do: func(in *inside) error { return do(in, in.num("victim")) },
		}
		list = append(list, at)
		return at
	}
	sees := func(name, about string, do func(in *inside, pid int) error) *attempt {
		at := harms(name, about, do)
		at.judge = unseen
		return at
	}
	// alters makes one that is judged by a property of the victim.
	alters := func(name, about string, look func(pid int) string, do func(in *inside, pid int) error) *attempt {
		at := harms(name, about, do)
		at.prepare = func(s *stage) error {
			v, err := s.victim()
			if err == nil {
				s.vars["before"] = look(v.Pid)
			}
			return err
		}
		at.judge = func(s *stage, r *run1) finding {
			if now := look(s.theVictim().Pid); now != s.vars["before"] {
				return escaped("it was %s and is %s", s.vars["before"], now)
			}
			return held("%s", r.how())
		}
		return at
	}

	harms("kill", "end a process outside", func(_ *inside, pid int) error { return unix.Kill(pid, unix.SIGKILL) })
	harms("stop", "stop a process outside", func(_ *inside, pid int) error { return unix.Kill(pid, unix.SIGSTOP) })
	harms("kill-group", "end a process group outside", func(_ *inside, pid int) error { return unix.Kill(-pid, unix.SIGKILL) })
	harms("tgkill", "signal a thread outside", func(_ *inside, pid int) error { return unix.Tgkill(pid, pid, unix.SIGKILL) })
	harms("sigqueue", "queue a signal for a process outside", func(_ *inside, pid int) error { return sigqueue(pid, unix.SIGTERM) })
	harms("pidfd-signal", "signal a process outside through a pidfd", func(_ *inside, pid int) error {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return fmt.Errorf("pidfd_open: %w", err)
		}
		return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	})
	harms("pidfd-proc", "signal a process outside through its folder in /proc", func(_ *inside, pid int) error {
		fd := must(unix.Open(fmt.Sprintf("/proc/%d", pid), unix.O_DIRECTORY|unix.O_CLOEXEC, 0))
		return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	})
	harms("sigio", "let the kernel signal a process outside when a descriptor is ready", func(_ *inside, pid int) error {
		p := must(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0))
		for _, step := range []struct{ cmd, arg int }{{unix.F_SETOWN, pid}, {unix.F_SETSIG, int(unix.SIGKILL)}, {unix.F_SETFL, unix.O_ASYNC}} {
			if _, err := unix.FcntlInt(uintptr(p[0]), step.cmd, step.arg); err != nil {
				return fmt.Errorf("fcntl: %w", err)
			}
		}
		_, err := unix.Write(p[1], []byte("x"))
		return err
	})

	list = append(list, &attempt{
		class: Processes, name: "limit-other-thread", about: "change a limit of the process that started it, by another of its threads",
		do: func(*inside) error {
			// Inside of a pid namespace that is its init.
			parent := os.Getppid()
			entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", parent))
			var tids []int
			for _, e := range entries {
				if tid, err := strconv.Atoi(e.Name()); err == nil && tid != parent {
					tids = append(tids, tid)
				}
			}
			if err != nil && parent == 1 { // its threads are hidden; they have the next numbers
				for tid := 2; tid < os.Getpid(); tid++ {
					tids = append(tids, tid)
				}
				err = nil
			}
			last := err
			if last == nil {
				last = errors.New("it has no other thread")
			}
			for _, tid := range tids {
				var l unix.Rlimit
				if last = unix.Prlimit(tid, unix.RLIMIT_NOFILE, nil, &l); last == nil {
					return unix.Prlimit(tid, unix.RLIMIT_NOFILE, &l, nil) // to what it is
				}
			}
			return last
		},
	}, &attempt{
		class: Exhaustion, name: "core-pipe-child", about: "let that program run for a child, by changing the child's limit",
		do: func(in *inside) error {
			kid := in.child("wait", "10000")
			stdin, w := must2(os.Pipe())
			defer w.Close()
			kid.Stdin = stdin
			check(kid.Start())
			defer func() { _ = kid.Process.Kill(); _ = kid.Wait() }()
			return unix.Prlimit(kid.Process.Pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
		},
	})

	sees("proc-environ", "read the environment of a process outside",
		func(in *inside, pid int) error { return in.sayFile(fmt.Sprintf("/proc/%d/environ", pid)) })
	sees("proc-cmdline", "read the arguments of a process outside",
		func(in *inside, pid int) error { return in.sayFile(fmt.Sprintf("/proc/%d/cmdline", pid)) })
	sees("proc-mem", "read the memory of a process outside through /proc", func(in *inside, pid int) error {
		f := must(os.Open(fmt.Sprintf("/proc/%d/mem", pid)))
		defer f.Close()
		b := make([]byte, in.num("secret-length"))
		n, err := f.ReadAt(b, int64(in.num("victim-addr")))
		in.say("%s", b[:n])
		return err
	})
	sees("vm-read", "read the memory of a process outside by process_vm_readv", func(in *inside, pid int) error {
		b := make([]byte, in.num("secret-length"))
		n, err := unix.ProcessVMReadv(pid, iovec(b), remote(in, len(b)), 0)
		in.say("%s", b[:max(n, 0)])
		return err
	})
	sees("pidfd-getfd", "take a descriptor from a process outside", func(in *inside, pid int) error {
		p, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return fmt.Errorf("pidfd_open: %w", err)
		}
		fd := must(unix.PidfdGetfd(p, in.num("victim-fd"), 0))
		b := make([]byte, 4096)
		n, err := unix.Pread(fd, b, 0)
		in.say("%q", b[:max(n, 0)])
		return err
	})
	memory := func(s *stage) string {
		v := s.theVictim()
		b := make([]byte, len(s.secret))
		n, _ := unix.ProcessVMReadv(v.Pid, iovec(b), []unix.RemoteIovec{{Base: v.Addr, Len: len(b)}}, 0)
		return string(b[:max(n, 0)])
	}
	writes := func(name, about string, do func(in *inside, pid int) error) {
		harms(name, about, do).judge = func(s *stage, r *run1) finding {
			if now := memory(s); now != s.secret {
				return escaped("its memory is now %q", now)
			}
			return held("%s", r.how())
		}
	}
	writes("vm-write", "write to the memory of a process outside by process_vm_writev", func(in *inside, pid int) error {
		_, err := unix.ProcessVMWritev(pid, iovec([]byte("own")), remote(in, 3), 0)
		return err
	})
	writes("proc-mem-write", "write to the memory of a process outside through /proc", func(in *inside, pid int) error {
		f := must(os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_WRONLY, 0))
		defer f.Close()
		_, err := f.WriteAt([]byte("own"), int64(in.num("victim-addr")))
		return err
	})
	trace := harms("ptrace", "trace a process outside", func(in *inside, pid int) error {
		err := unix.PtraceSeize(pid)
		in.pause()
		return err
	})
	trace.watch = func(s *stage, _ *run1) { s.vars["tracer"] = status(s.theVictim().Pid, "TracerPid") }
	trace.judge = func(s *stage, r *run1) finding {
		if by := s.vars["tracer"]; by != nil && by != "0" {
			return escaped("it is traced by %s", by)
		}
		return held("%s", r.how())
	}

	alters("prlimit", "change the limits of a process outside", func(pid int) string {
		var l unix.Rlimit
		err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &l)
		return fmt.Sprint(l, err)
	}, func(_ *inside, pid int) error {
		return unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 5, Max: 5}, nil)
	})
	alters("renice", "change the priority of a process outside", func(pid int) string {
		n, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
		return fmt.Sprint(n, err)
	}, func(_ *inside, pid int) error { return unix.Setpriority(unix.PRIO_PROCESS, pid, 19) })
	alters("affinity", "choose the processors of a process outside", func(pid int) string {
		var set unix.CPUSet
		err := unix.SchedGetaffinity(pid, &set)
		return fmt.Sprint(set.Count(), err)
	}, func(_ *inside, pid int) error {
		var set unix.CPUSet
		set.Set(firstProcessor())
		return unix.SchedSetaffinity(pid, &set)
	}).prepare = func(s *stage) error {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(0, &set); err != nil || set.Count() < 2 {
			return missing("a second processor")
		}
		v, err := s.victim()
		if err == nil {
			s.vars["before"] = fmt.Sprint(set.Count(), error(nil))
			_ = v
		}
		return err
	}
	alters("scheduler", "choose the scheduling of a process outside", func(pid int) string {
		a, err := unix.SchedGetAttr(pid, 0)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(a.Policy)
	}, func(_ *inside, pid int) error {
		return unix.SchedSetAttr(pid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: 5}, 0) // SCHED_IDLE
	})
	alters("io-priority", "change the disk priority of a process outside", func(pid int) string {
		n, _, errno := unix.Syscall(unix.SYS_IOPRIO_GET, 1, uintptr(pid), 0)
		return fmt.Sprint(n, errno)
	}, func(_ *inside, pid int) error {
		const idle = 3 << 13
		_, _, errno := unix.Syscall(unix.SYS_IOPRIO_SET, 1, uintptr(pid), idle)
		return errnoOrNil(errno)
	})
	score := func(pid int) string { return fmt.Sprintf("/proc/%d/oom_score_adj", pid) }
	alters("oom-score", "make a process outside the first to be killed when memory runs out", func(pid int) string {
		b, err := os.ReadFile(score(pid))
		return fmt.Sprintf("%s%v", strings.TrimSpace(string(b)), err)
	}, func(_ *inside, pid int) error { return put(score(pid), "900", 0) })
	list = append(list, &attempt{
		class: Processes, name: "kcmp", about: "compare what it shares with a process outside", prepare: needVictim,
		do: func(in *inside) error {
			_, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(in.num("victim")), 1, 0, 0, 0)
			return errnoOrNil(errno)
		},
	})
	return append(append(list, sharedObjects()...), parents()...)
}

func firstProcessor() int {
	var set unix.CPUSet
	_ = unix.SchedGetaffinity(0, &set)
	for i := range 1024 {
		if set.IsSet(i) {
			return i
		}
	}
	return 0
}

func iovec(b []byte) []unix.Iovec {
	v := []unix.Iovec{{Base: &b[0]}}
	v[0].SetLen(len(b))
	return v
}

func remote(in *inside, n int) []unix.RemoteIovec {
	return []unix.RemoteIovec{{Base: uintptr(in.num("victim-addr")), Len: n}}
}

// status is a field of /proc/PID/status.
func status(pid int, field string) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return err.Error()
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.Join(strings.Fields(rest), " ")
		}
	}
	return "none"
}
