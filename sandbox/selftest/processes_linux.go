//go:build !hostsup_posix

package selftest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// others are attempts on processes outside: to signal them, to read and write what they have, and to change how the
// kernel treats them. For each there are several calls, because a filter or a namespace may miss one.
func others() []*attempt {
	victim := func(do func(pid int) error) func(*inside) error {
		return func(in *inside) error { return do(in.num("victim")) }
	}
	kills := func(sign int, signal unix.Signal) func(*inside) error {
		return func(in *inside) error { return unix.Kill(sign*in.num("victim"), signal) }
	}
	return slices.Concat(family(Processes, attempt{prepare: needVictim, judge: unharmed}, []attempt{
		{name: "kill", about: "end a process outside", do: kills(1, unix.SIGKILL)},
		{name: "stop", about: "stop a process outside", do: kills(1, unix.SIGSTOP)},
		{name: "kill-group", about: "end a process group outside", do: kills(-1, unix.SIGKILL)},
		{name: "tgkill", about: "signal a thread outside",
			do: victim(func(pid int) error { return unix.Tgkill(pid, pid, unix.SIGKILL) })},
		{name: "sigqueue", about: "queue a signal for a process outside", do: victim(func(pid int) error {
			info := queued(unix.SIGTERM)
			return call(unix.SYS_RT_SIGQUEUEINFO, uintptr(pid), uintptr(unix.SIGTERM), uintptr(unsafe.Pointer(&info)))
		})},
		{name: "pidfd-signal", about: "signal a process outside through a pidfd", do: victim(func(pid int) error {
			return unix.PidfdSendSignal(pidfd(pid), unix.SIGKILL, nil, 0)
		})},
		{name: "pidfd-proc", about: "signal a process outside through its folder in /proc", do: victim(func(pid int) error {
			fd := must(unix.Open(fmt.Sprintf("/proc/%d", pid), unix.O_DIRECTORY|unix.O_CLOEXEC, 0))
			return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		})},
		{name: "sigio", about: "let the kernel signal a process outside when a descriptor is ready",
			do: victim(func(pid int) error {
				p := must(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0))
				for _, step := range [][2]int{{unix.F_SETOWN, pid}, {unix.F_SETSIG, int(unix.SIGKILL)}, {unix.F_SETFL, unix.O_ASYNC}} {
					_, err := unix.FcntlInt(uintptr(p[0]), step[0], step[1])
					check(failed("fcntl", err))
				}
				return errOf(unix.Write(p[1], []byte("x")))
			})},
	}), family(Processes, attempt{}, []attempt{
		{name: "limit-other-thread", about: "change a limit of the process that started it, by another of its threads",
			do: limitOtherThread},
	}), family(Exhaustion, attempt{}, []attempt{
		{name: "core-pipe-child", about: "let that program run for a child, by changing the child's limit",
			do: func(in *inside) error {
				kid := in.child("wait", "10000")
				stdin, w := must2(os.Pipe())
				defer w.Close()
				kid.Stdin = stdin
				check(kid.Start())
				defer func() { _ = kid.Process.Kill(); _ = kid.Wait() }()
				return unix.Prlimit(kid.Process.Pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
			}},
	}), family(Processes, attempt{prepare: needVictim, judge: unseen}, []attempt{
		{name: "proc-environ", about: "read the environment of a process outside", do: reads("/proc/$victim/environ")},
		{name: "proc-cmdline", about: "read the arguments of a process outside", do: reads("/proc/$victim/cmdline")},
		{name: "proc-mem", about: "read the memory of a process outside through /proc", do: func(in *inside) error {
			f := in.open("/proc/$victim/mem", os.O_RDONLY)
			return in.sayRead(func(b []byte) (int, error) { return f.ReadAt(b[:in.num("length")], int64(in.num("memory"))) })
		}},
		{name: "vm-read", about: "read the memory of a process outside by process_vm_readv", do: func(in *inside) error {
			n := in.num("length")
			return in.sayRead(func(b []byte) (int, error) {
				return unix.ProcessVMReadv(in.num("victim"), iovec(b[:n]), remote(uintptr(in.num("memory")), n), 0)
			})
		}},
		{name: "pidfd-getfd", about: "take a descriptor from a process outside", do: func(in *inside) error {
			fd := must(unix.PidfdGetfd(pidfd(in.num("victim")), in.num("descriptor"), 0))
			return in.sayRead(func(b []byte) (int, error) { return unix.Pread(fd, b, 0) })
		}},
	}), family(Processes, attempt{prepare: needVictim, look: memoryOfVictim}, []attempt{
		{name: "vm-write", about: "write to the memory of a process outside by process_vm_writev", do: func(in *inside) error {
			to := remote(uintptr(in.num("memory")), len("own"))
			return errOf(unix.ProcessVMWritev(in.num("victim"), iovec([]byte("own")), to, 0))
		}},
		{name: "proc-mem-write", about: "write to the memory of a process outside through /proc", do: func(in *inside) error {
			return errOf(in.open("/proc/$victim/mem", os.O_WRONLY).WriteAt([]byte("own"), int64(in.num("memory"))))
		}},
		{name: "ptrace", about: "trace a process outside", judge: watched,
			do: func(in *inside) error {
				err := unix.PtraceSeize(in.num("victim"))
				in.pause()
				return err
			},
			watch: func(s *stage, _ *trial) {
				if by := status(s.victim.Pid, "TracerPid"); by != "0" {
					s.seen = "it is traced by " + by
				}
			}},
		{name: "prlimit", about: "change the limits of a process outside",
			look: ofVictim(func(pid int) (any, error) {
				var l unix.Rlimit
				return &l, unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &l)
			}),
			do: victim(func(pid int) error { return unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 5, Max: 5}, nil) })},
		{name: "renice", about: "change the priority of a process outside",
			look: ofVictim(func(pid int) (any, error) { return unix.Getpriority(unix.PRIO_PROCESS, pid) }),
			do:   victim(func(pid int) error { return unix.Setpriority(unix.PRIO_PROCESS, pid, 19) })},
		{name: "affinity", about: "choose the processors of a process outside",
			prepare: func(s *stage) {
				var set unix.CPUSet
				needs(unix.SchedGetaffinity(0, &set) == nil && set.Count() >= 2, "a second processor")
				needVictim(s)
			},
			look: ofVictim(func(pid int) (any, error) {
				var set unix.CPUSet
				err := unix.SchedGetaffinity(pid, &set)
				return set.Count(), err
			}),
			do: victim(func(pid int) error {
				var own, first unix.CPUSet
				check(unix.SchedGetaffinity(0, &own))
				for i := 0; first.Count() == 0; i++ {
					if own.IsSet(i) {
						first.Set(i)
					}
				}
				return unix.SchedSetaffinity(pid, &first)
			})},
		{name: "scheduler", about: "choose the scheduling of a process outside",
			look: ofVictim(func(pid int) (any, error) { return raw(unix.SYS_SCHED_GETSCHEDULER, uintptr(pid)) }),
			do: victim(func(pid int) error {
				return unix.SchedSetAttr(pid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: 5}, 0) // SCHED_IDLE
			})},
		{name: "io-priority", about: "change the disk priority of a process outside",
			look: ofVictim(func(pid int) (any, error) { return raw(unix.SYS_IOPRIO_GET, 1, uintptr(pid)) }),
			do:   victim(func(pid int) error { return call(unix.SYS_IOPRIO_SET, 1, uintptr(pid), 3<<13) })}, // idle
		{name: "oom-score", about: "make a process outside the first to be killed when memory runs out",
			look: func(s *stage) string { return s.read(fmt.Sprintf("/proc/%d/oom_score_adj", s.victim.Pid)) },
			do:   puts("/proc/$victim/oom_score_adj", "900", 0)},
	}), family(Processes, attempt{prepare: needVictim}, []attempt{
		{name: "kcmp", about: "compare what it shares with a process outside", do: victim(func(pid int) error {
			return call(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(pid), 1)
		})},
	}), sharedObjects(), parents())
}

// ofVictim describes a property of the victim.
func ofVictim(look func(pid int) (any, error)) func(*stage) string {
	return func(s *stage) string {
		v, err := look(s.victim.Pid)
		return fmt.Sprint(v, err)
	}
}

// memoryOfVictim is what its secret is now.
func memoryOfVictim(s *stage) string {
	b := make([]byte, len(s.secret))
	n, _ := unix.ProcessVMReadv(s.victim.Pid, iovec(b), remote(s.victim.Addr, len(b)), 0)
	return string(b[:max(n, 0)])
}

// limitOtherThread tries all threads of the process that has started this one but the first.
func limitOtherThread(*inside) error {
	parent := os.Getppid() // inside of a pid namespace that is its init
	entries, last := os.ReadDir(fmt.Sprintf("/proc/%d/task", parent))
	var tids []int
	for _, e := range entries {
		tid, _ := strconv.Atoi(e.Name())
		tids = append(tids, tid)
	}
	if last == nil {
		last = errors.New("it has no other thread")
	} else if parent == 1 { // its threads are hidden; they have the next numbers
		for tid := 2; tid < os.Getpid(); tid++ {
			tids = append(tids, tid)
		}
	}
	for _, tid := range tids {
		if tid != parent {
			if last = sameLimit(tid, unix.RLIMIT_NOFILE); last == nil {
				return nil
			}
		}
	}
	return last
}

// sameLimit sets a limit of another process to what it is.
func sameLimit(pid, resource int) error {
	var l unix.Rlimit
	if err := unix.Prlimit(pid, resource, nil, &l); err != nil {
		return err
	}
	return unix.Prlimit(pid, resource, &l, nil)
}

// parents are attempts on the process that has started this one: the supervisor, or a helper of the sandbox's with more
// rights. By its program in /proc runc was overwritten in 2019 (CVE-2019-5736).
func parents() []*attempt {
	return family(Processes, attempt{}, []attempt{
		{name: "parent-descriptors", about: "take a descriptor from the process that has started it", do: func(*inside) error {
			p := pidfd(parent())
			var err error
			for fd := range 64 {
				if err = closed(unix.PidfdGetfd(p, fd, 0)); err == nil {
					return nil
				}
			}
			return err
		}},
		{name: "parent-memory", about: "open the memory of the process that has started it",
			do: opens("/proc/$parent/mem", unix.O_RDWR)},
		{name: "parent-maps", about: "read the memory map of the process that has started it", do: func(in *inside) error {
			return unless(len(must(os.ReadFile(in.path("/proc/$parent/maps")))) > 0, "permission denied")
		}},
		{name: "parent-proc-fd", about: "list the descriptors of the process that has started it",
			do: on(func(path string) error { return errOf(os.ReadDir(path)) }, "/proc/$parent/fd")},
		{name: "parent-ptrace", about: "trace the process that has started it",
			do: func(*inside) error { return unix.PtraceSeize(parent()) }},
		{name: "parent-limits", about: "set the limits of the process that has started it",
			do: func(*inside) error { return sameLimit(parent(), unix.RLIMIT_CORE) }},
		{name: "parent-environ", about: "read the environment of the process that has started it", judge: knowsEnvironment,
			do: func(in *inside) error {
				return sayDigests(in, strings.Split(string(must(os.ReadFile(in.path("/proc/$parent/environ")))), "\x00"))
			}},
	})
}

func pidfd(pid int) int {
	fd, err := unix.PidfdOpen(pid, 0)
	check(failed("pidfd_open", err))
	return fd
}

func iovec(b []byte) []unix.Iovec {
	v := []unix.Iovec{{Base: &b[0]}}
	v[0].SetLen(len(b))
	return v
}

func remote(address uintptr, n int) []unix.RemoteIovec {
	return []unix.RemoteIovec{{Base: address, Len: n}}
}

// signalInfo is a siginfo_t.
type signalInfo struct {
	signo, errno, code, _ int32
	_                     [112]byte
}

func queued(sig unix.Signal) signalInfo {
	const queue = -1 // SI_QUEUE
	return signalInfo{signo: int32(sig), code: queue}
}

// sharedObjects are attempts on memory, queues and keys that processes share by a number or a name. Landlock knows none
// of them.
func sharedObjects() []*attempt {
	// found makes an object that has an id.
	found := func(s *stage, what string, err error, id int, remove func()) {
		need(what, err)
		s.set("id", id)
		s.onClose(remove)
	}
	// key adds one with the secret to the user's keyring.
	key := func(s *stage) int {
		id, err := unix.AddKey("user", s.mark, []byte(s.secret), unix.KEY_SPEC_USER_KEYRING)
		found(s, "keys in the kernel", err, id, func() {
			_, _ = unix.KeyctlInt(unix.KEYCTL_UNLINK, id, unix.KEY_SPEC_USER_KEYRING, 0, 0)
		})
		return id
	}
	readKey := func(in *inside, id int) error {
		return in.sayRead(func(b []byte) (int, error) { return unix.KeyctlBuffer(unix.KEYCTL_READ, id, b, 0) })
	}
	return family(Processes, attempt{judge: unseen}, []attempt{
		{name: "shared-memory", about: "attach System V memory of a process outside",
			prepare: func(s *stage) {
				id, err := unix.SysvShmGet(unix.IPC_PRIVATE, page, unix.IPC_CREAT|0o666)
				found(s, "System V shared memory", err, id, func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
				b := must(unix.SysvShmAttach(id, 0, 0))
				copy(b, s.secret)
				check(unix.SysvShmDetach(b))
			},
			do: func(in *inside) error {
				b := must(unix.SysvShmAttach(in.num("id"), 0, unix.SHM_RDONLY))
				in.say("%q", b[:64])
				return nil
			}},
		{name: "semaphore", about: "change a System V semaphore of a process outside",
			prepare: func(s *stage) {
				id, err := raw(unix.SYS_SEMGET, unix.IPC_PRIVATE, 1, unix.IPC_CREAT|0o666)
				found(s, "System V semaphores", err, int(id), func() { _ = call(unix.SYS_SEMCTL, id, 0, unix.IPC_RMID) })
			},
			look: func(s *stage) string {
				const getval = 12
				return fmt.Sprint(raw(unix.SYS_SEMCTL, uintptr(s.num("id")), 0, getval))
			},
			do: func(in *inside) error {
				up := struct {
					num   uint16
					op    int16
					flags int16
				}{op: 1}
				return call(unix.SYS_SEMOP, uintptr(in.num("id")), uintptr(unsafe.Pointer(&up)), 1)
			}},
		{name: "message-queue", about: "read a System V message of a process outside",
			prepare: func(s *stage) {
				id, err := raw(unix.SYS_MSGGET, unix.IPC_PRIVATE, unix.IPC_CREAT|0o666)
				found(s, "System V messages", err, int(id), func() { _ = call(unix.SYS_MSGCTL, id, unix.IPC_RMID) })
				m := message{kind: 1}
				n := copy(m.text[:], s.secret)
				check(call(unix.SYS_MSGSND, id, uintptr(unsafe.Pointer(&m)), uintptr(n)))
			},
			do: func(in *inside) error {
				var m message
				return in.sayRead(func(b []byte) (int, error) {
					id, size := uintptr(in.num("id")), uintptr(len(m.text))
					n, err := raw(unix.SYS_MSGRCV, id, uintptr(unsafe.Pointer(&m)), size, 0, unix.IPC_NOWAIT)
					if err != nil {
						return 0, err
					}
					return copy(b, m.text[:n]), nil
				})
			}},
		{name: "posix-queue", about: "read a POSIX message queue of a process outside",
			prepare: func(s *stage) {
				fd, err := openQueue(s.mark, unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC)
				found(s, "POSIX message queues", err, fd, func() {
					_ = call(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(ptr(s.mark))))
					unix.Close(fd)
				})
				_ = unix.Fchmod(fd, 0o666)
				b := []byte(s.secret)
				check(call(unix.SYS_MQ_TIMEDSEND, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b))))
			},
			do: func(in *inside) error {
				fd := must(openQueue(in.get("mark"), unix.O_RDONLY|unix.O_NONBLOCK))
				return in.sayRead(func(b []byte) (int, error) {
					n, err := raw(unix.SYS_MQ_TIMEDRECEIVE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
					return int(n), err
				})
			}},
		{name: "key", about: "read a key that was added to the user's keyring outside",
			prepare: func(s *stage) {
				const anybody = 0x3f3f3f3f
				check(unix.KeyctlSetperm(key(s), anybody))
			},
			do: func(in *inside) error { return readKey(in, in.num("id")) }},
		{name: "keyring", about: "find a key by its name in the keyrings that the supervisor has",
			prepare: func(s *stage) { key(s) },
			do: func(in *inside) error {
				return readKey(in, must(unix.RequestKey("user", in.get("mark"), "", unix.KEY_SPEC_PROCESS_KEYRING)))
			}},
	})
}

// message is a System V message.
type message struct {
	kind int
	text [256]byte
}

// openQueue opens a POSIX message queue.
func openQueue(name string, flags int) (int, error) {
	fd, err := raw(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(ptr(name))), uintptr(flags), 0o666)
	return int(fd), failed("mq_open", err)
}
