//go:build !hostsup_posix

package selftest

import (
	"errors"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// noPath is the path of nothing, for the kernel.
var noPath = ptr("/nonexistent/selftest")

// calls are attempts on system calls with a large or bad history, which a host has no use for: most are on the lists by
// which containers are refused calls, the rest is what the kernel hands out to all. Their arguments are such that
// nothing comes of them; the kernel's answer says whether it would have.
func calls() []*attempt {
	none := uintptr(unsafe.Pointer(noPath))
	// makes makes a call that is let through when the kernel gives one of the answers.
	makes := func(nr uintptr, args []uintptr, answers ...error) func(*inside) error {
		return func(*inside) error { return reached(call(nr, args...), answers...) }
	}
	return slices.Concat(family(Calls, attempt{}, []attempt{
		{name: "io-uring", about: "make a ring for calls that no filter sees", do: func(*inside) error {
			var params [120]byte
			return call(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)))
		}},
		{name: "bpf", about: "load into the kernel's machine", do: func(*inside) error {
			attr := [16]uint32{2, 4, 4, 1} // BPF_MAP_CREATE of an array of one number
			return call(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
		}},
		{name: "perf", about: "measure with the processor's counters", do: func(*inside) error {
			attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
				Config: unix.PERF_COUNT_SW_TASK_CLOCK, Bits: unix.PerfBitDisabled | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}
			return closed(unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC))
		}},
		{name: "userfaultfd", about: "handle page faults oneself", do: makes(unix.SYS_USERFAULTFD, []uintptr{unix.O_CLOEXEC | 1})},
		{name: "add-key", about: "add a key to the kernel's keys", do: func(*inside) error {
			return errOf(unix.AddKey("user", "selftest", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING))
		}},
		{name: "keyctl", about: "use the kernel's keys", do: func(*inside) error {
			return errOf(unix.KeyctlGetKeyringID(unix.KEY_SPEC_PROCESS_KEYRING, true))
		}},
		{name: "request-key", about: "have a key looked up", do: func(*inside) error {
			// No key, and no program that would look one up.
			return reached(errOf(unix.RequestKey("user", "selftest-none", "", 0)), unix.ENOKEY, unix.ENOENT)
		}},
		{name: "ptrace-child", about: "trace a child", do: func(*inside) error {
			runtime.LockOSThread()
			cmd := exec.Command(nothing())
			cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
			check(cmd.Start())
			// It has stopped at its first instruction and would go on when told to.
			var ws syscall.WaitStatus
			must(syscall.Wait4(cmd.Process.Pid, &ws, 0, nil))
			_ = cmd.Process.Kill()
			return unless(ws.Stopped(), "it is not traced")
		}},
		{name: "vm-read-self", about: "read memory by process_vm_readv", do: func(*inside) error {
			b, c := []byte("x"), []byte("y")
			return errOf(unix.ProcessVMReadv(unix.Getpid(), iovec(b), remote(uintptr(unsafe.Pointer(&c[0])), 1), 0))
		}},
		{name: "fanotify", about: "listen to what all do with files", do: func(*inside) error {
			return closed(unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_CLOEXEC, unix.O_RDONLY))
		}},
		{name: "module", about: "load a kernel module",
			do: makes(unix.SYS_FINIT_MODULE, []uintptr{^uintptr(0), none}, unix.EBADF)},
		{name: "module-memory", about: "load a kernel module from memory",
			do: makes(unix.SYS_INIT_MODULE, []uintptr{none, 4, none}, unix.ENOEXEC)},
		{name: "module-remove", about: "remove a kernel module",
			do: makes(unix.SYS_DELETE_MODULE, []uintptr{none}, unix.ENOENT)},
		{name: "kexec", about: "start another kernel",
			do: makes(unix.SYS_KEXEC_LOAD, []uintptr{0, 0, 0, ^uintptr(0)}, unix.EINVAL)},
		// Not the magic numbers: the kernel looks at the rights first.
		{name: "reboot", about: "restart the machine", do: makes(unix.SYS_REBOOT, []uintptr{1, 2, 3}, unix.EINVAL)},
		{name: "swapon", about: "add swap", do: makes(unix.SYS_SWAPON, []uintptr{none}, unix.ENOENT)},
		{name: "swapoff", about: "take swap away", do: makes(unix.SYS_SWAPOFF, []uintptr{none}, unix.ENOENT)},
		{name: "acct", about: "have all processes recorded", do: makes(unix.SYS_ACCT, []uintptr{none}, unix.ENOENT)},
		// Q_SYNC, of no device.
		{name: "quota", about: "change quotas", do: makes(unix.SYS_QUOTACTL, []uintptr{0x800001 << 8})},
		{name: "clock", about: "set the clock", do: func(*inside) error {
			// The time zone only, and to what it is.
			var zone [2]int32
			check(call(unix.SYS_GETTIMEOFDAY, 0, uintptr(unsafe.Pointer(&zone))))
			check(unless(zone == [2]int32{}, "the kernel has a time zone; not touched"))
			return call(unix.SYS_SETTIMEOFDAY, 0, uintptr(unsafe.Pointer(&zone)))
		}},
		{name: "kernel-log", about: "read the kernel's log", do: func(*inside) error {
			const size = 10 // SYSLOG_ACTION_SIZE_BUFFER, which has the same check as reading for all but root
			check(call(unix.SYS_SYSLOG, size))
			var b [1]byte
			return call(unix.SYS_SYSLOG, 3, uintptr(unsafe.Pointer(&b)), 1)
		}},
		{name: "personality", about: "change what kind of system the kernel plays",
			do: makes(unix.SYS_PERSONALITY, []uintptr{8})}, // PER_LINUX32
		{name: "name-to-handle", about: "make a file handle", do: func(*inside) error {
			_, _, err := unix.NameToHandleAt(unix.AT_FDCWD, "/", 0)
			return err
		}},
		{name: "move-pages", about: "move memory between nodes", do: makes(unix.SYS_MOVE_PAGES, nil)},
		{name: "migrate-pages", about: "move a process between nodes", do: func(*inside) error {
			nodes := [16]uint64{1}
			return call(unix.SYS_MIGRATE_PAGES, 0, 64, uintptr(unsafe.Pointer(&nodes)), uintptr(unsafe.Pointer(&nodes)))
		}},
		{name: "memory-secret", about: "make memory that the kernel itself cannot read", do: makes(unix.SYS_MEMFD_SECRET, nil)},
		{name: "io-setup", about: "take of the machine's one count of asynchronous requests", do: func(*inside) error {
			var ctx uintptr
			check(call(unix.SYS_IO_SETUP, 1, uintptr(unsafe.Pointer(&ctx))))
			return call(unix.SYS_IO_DESTROY, ctx)
		}},
		// Of nothing: the kernel looks at the arguments first.
		{name: "remap-file-pages", about: "have memory mapped in another order",
			do: makes(unix.SYS_REMAP_FILE_PAGES, nil, unix.EINVAL)},
		{name: "socket-pair-family", about: "make a pair of sockets of another family than unix", do: func(*inside) error {
			// The family was asked.
			return reached(errOf(unix.Socketpair(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)), unix.EOPNOTSUPP)
		}},
		{name: "share-memory-pages", about: "have one's memory compared with that of all other processes",
			do: func(*inside) error {
				check(unix.Prctl(unix.PR_SET_MEMORY_MERGE, 1, 0, 0, 0))
				return unix.Prctl(unix.PR_SET_MEMORY_MERGE, 0, 0, 0, 0)
			}},
		{name: "share-memory-advice", about: "the same for a part of it", do: func(*inside) error {
			return unix.Madvise(must(unix.Mmap(-1, 0, page, readWrite, private)), unix.MADV_MERGEABLE)
		}},
		{name: "socket-protocol", about: "make a socket of a protocol that few programs speak", do: func(*inside) error {
			// Where the kernel does not have it, it says so.
			for _, s := range []struct{ kind, protocol int }{
				{unix.SOCK_STREAM, unix.IPPROTO_SCTP}, {unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE}, {unix.SOCK_DCCP, unix.IPPROTO_DCCP},
			} {
				err := closed(unix.Socket(unix.AF_INET, s.kind|unix.SOCK_CLOEXEC, s.protocol))
				if reached(err, unix.EPROTONOSUPPORT, unix.ESOCKTNOSUPPORT) == nil {
					return nil
				}
			}
			return errors.New("no such socket")
		}},
	}), foreign())
}
