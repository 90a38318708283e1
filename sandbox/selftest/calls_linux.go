//go:build !hostsup_posix

package selftest

import (
	"errors"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// calls are attempts on system calls with a large or bad history, which a host
// has no use for. Their arguments are such that nothing comes of them; the
// kernel's answer says whether it would have.
func calls() []*attempt {
	var list []*attempt
	// call makes an attempt that is out when the answer is none of a filter's or
	// of a missing right.
	call := func(name, about string, do func() error) *attempt {
		list = append(list, &attempt{class: Calls, name: name, about: about, do: func(*inside) error { return do() }})
		return list[len(list)-1]
	}
	// reached turns an answer that only comes after the check of rights into
	// success.
	reached := func(err error, answers ...error) error {
		for _, a := range answers {
			if errors.Is(err, a) {
				return nil
			}
		}
		return err
	}
	raw := func(nr uintptr, args ...uintptr) error {
		var a [6]uintptr
		copy(a[:], args)
		_, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
		return errnoOrNil(errno)
	}
	none := ptr("/nonexistent/selftest")

	call("io-uring", "make a ring for calls that no filter sees", func() error {
		var params [120]byte
		return raw(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)))
	})
	call("bpf", "load into the kernel's machine", func() error {
		// BPF_MAP_CREATE of an array of one number.
		attr := [16]uint32{2, 4, 4, 1}
		return raw(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	})
	call("perf", "measure with the processor's counters", func() error {
		attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
			Config: unix.PERF_COUNT_SW_TASK_CLOCK, Bits: unix.PerfBitDisabled | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}
		fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err == nil {
			unix.Close(fd)
		}
		return err
	})
	call("userfaultfd", "handle page faults oneself", func() error { return raw(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|1) })
	call("add-key", "add a key to the kernel's keys", func() error {
		_, err := unix.AddKey("user", "selftest", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
		return err
	})
	call("keyctl", "use the kernel's keys", func() error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_PROCESS_KEYRING, true)
		return err
	})
	call("request-key", "have a key looked up", func() error {
		_, err := unix.RequestKey("user", "selftest-none", "", 0)
		// No key, and no program that would look one up.
		return reached(err, unix.ENOKEY, unix.ENOENT)
	})
	call("ptrace-child", "trace a child", func() error {
		runtime.LockOSThread()
		path, err := exec.LookPath("/usr/bin/true")
		if err != nil {
			path = "/bin/true"
		}
		cmd := exec.Command(path)
		cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
		if err := cmd.Start(); err != nil {
			return err
		}
		// It has stopped at its first instruction and would go on when told to.
		var ws syscall.WaitStatus
		if _, err := syscall.Wait4(cmd.Process.Pid, &ws, 0, nil); err != nil {
			return err
		}
		_ = cmd.Process.Kill()
		if !ws.Stopped() {
			return errors.New("it is not traced")
		}
		return nil
	})
	call("vm-read-self", "read memory by process_vm_readv", func() error {
		b, c := []byte("x"), []byte("y")
		_, err := unix.ProcessVMReadv(unix.Getpid(), iovec(b), []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&c[0])), Len: 1}}, 0)
		return err
	})
	call("fanotify", "listen to what all do with files", func() error {
		fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_CLOEXEC, unix.O_RDONLY)
		if err == nil {
			unix.Close(fd)
		}
		return err
	})
	call("module", "load a kernel module", func() error {
		return reached(raw(unix.SYS_FINIT_MODULE, ^uintptr(0), uintptr(unsafe.Pointer(none)), 0), unix.EBADF)
	})
	call("module-memory", "load a kernel module from memory", func() error {
		return reached(raw(unix.SYS_INIT_MODULE, uintptr(unsafe.Pointer(none)), 4, uintptr(unsafe.Pointer(none))), unix.ENOEXEC)
	})
	call("module-remove", "remove a kernel module", func() error {
		return reached(raw(unix.SYS_DELETE_MODULE, uintptr(unsafe.Pointer(none)), 0), unix.ENOENT)
	})
	call("kexec", "start another kernel", func() error { return reached(raw(unix.SYS_KEXEC_LOAD, 0, 0, 0, ^uintptr(0)), unix.EINVAL) })
	call("reboot", "restart the machine", func() error {
		// Not the magic numbers: the kernel looks at the rights first.
		return reached(raw(unix.SYS_REBOOT, 1, 2, 3), unix.EINVAL)
	})
	call("swapon", "add swap", func() error { return reached(raw(unix.SYS_SWAPON, uintptr(unsafe.Pointer(none)), 0), unix.ENOENT) })
	call("swapoff", "take swap away", func() error { return reached(raw(unix.SYS_SWAPOFF, uintptr(unsafe.Pointer(none))), unix.ENOENT) })
	call("acct", "have all processes recorded", func() error { return reached(raw(unix.SYS_ACCT, uintptr(unsafe.Pointer(none))), unix.ENOENT) })
	call("quota", "change quotas", func() error {
		const sync = 0x800001 << 8 // Q_SYNC, of no device
		return raw(unix.SYS_QUOTACTL, sync, 0, 0, 0)
	})
	call("clock", "set the clock", func() error {
		// The time zone only, and to what it is.
		var zone [2]int32
		if err := raw(unix.SYS_GETTIMEOFDAY, 0, uintptr(unsafe.Pointer(&zone))); err != nil {
			return err
		}
		if zone != [2]int32{} {
			return errors.New("the kernel has a time zone; not touched")
		}
		return raw(unix.SYS_SETTIMEOFDAY, 0, uintptr(unsafe.Pointer(&zone)))
	})
	call("kernel-log", "read the kernel's log", func() error {
		const size = 10 // SYSLOG_ACTION_SIZE_BUFFER, which has the same check as reading for all but root
		if err := raw(unix.SYS_SYSLOG, size, 0, 0); err != nil {
			return err
		}
		var b [1]byte
		return raw(unix.SYS_SYSLOG, 3, uintptr(unsafe.Pointer(&b)), 1)
	})
	call("personality", "change what kind of system the kernel plays", func() error {
		const linux32 = 8
		return raw(unix.SYS_PERSONALITY, linux32)
	})
	call("name-to-handle", "make a file handle", func() error {
		_, _, err := unix.NameToHandleAt(unix.AT_FDCWD, "/", 0)
		return err
	})
	call("move-pages", "move memory between nodes", func() error { return raw(unix.SYS_MOVE_PAGES, 0, 0, 0, 0, 0, 0) })
	call("migrate-pages", "move a process between nodes", func() error {
		var nodes [16]uint64
		nodes[0] = 1
		return raw(unix.SYS_MIGRATE_PAGES, 0, 64, uintptr(unsafe.Pointer(&nodes)), uintptr(unsafe.Pointer(&nodes)))
	})
	call("memory-secret", "make memory that the kernel itself cannot read", func() error { return raw(unix.SYS_MEMFD_SECRET, 0) })
	call("io-setup", "take of the machine's one count of asynchronous requests", func() error {
		var ctx uintptr
		if err := raw(unix.SYS_IO_SETUP, 1, uintptr(unsafe.Pointer(&ctx))); err != nil {
			return err
		}
		return raw(unix.SYS_IO_DESTROY, ctx)
	})
	call("remap-file-pages", "have memory mapped in another order", func() error {
		// Of nothing: the kernel looks at the arguments first.
		return reached(raw(unix.SYS_REMAP_FILE_PAGES, 0, 0, 0, 0, 0), unix.EINVAL)
	})
	call("socket-pair-family", "make a pair of sockets of another family than unix", func() error {
		_, err := unix.Socketpair(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		return reached(err, unix.EOPNOTSUPP) // the family was asked
	})
	call("share-memory-pages", "have one's memory compared with that of all other processes", func() error {
		if err := unix.Prctl(unix.PR_SET_MEMORY_MERGE, 1, 0, 0, 0); err != nil {
			return err
		}
		return unix.Prctl(unix.PR_SET_MEMORY_MERGE, 0, 0, 0, 0)
	})
	call("share-memory-advice", "the same for a part of it", func() error {
		b, err := unix.Mmap(-1, 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			return err
		}
		return unix.Madvise(b, unix.MADV_MERGEABLE)
	})
	call("socket-protocol", "make a socket of a protocol that few programs speak", func() error {
		// Where the kernel does not have it, it says so.
		for _, protocol := range []int{unix.IPPROTO_SCTP, unix.IPPROTO_UDPLITE, unix.IPPROTO_DCCP} {
			kind := map[int]int{unix.IPPROTO_UDPLITE: unix.SOCK_DGRAM, unix.IPPROTO_DCCP: unix.SOCK_DCCP}[protocol]
			fd, err := unix.Socket(unix.AF_INET, max(kind, unix.SOCK_STREAM)|unix.SOCK_CLOEXEC, protocol)
			if err == nil {
				unix.Close(fd)
			}
			if reached(err, unix.EPROTONOSUPPORT, unix.ESOCKTNOSUPPORT) == nil {
				return nil
			}
		}
		return errors.New("no such socket")
	})
	return append(list, foreign()...)
}

func ptr(s string) *byte {
	p, _ := unix.BytePtrFromString(s)
	return p
}
