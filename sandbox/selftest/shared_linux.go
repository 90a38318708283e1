//go:build !hostsup_posix

package selftest

import (
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sharedObjects are attempts on memory, queues and keys that processes share by
// a number or a name.
func sharedObjects() []*attempt {
	return []*attempt{
		{
			class: Processes, name: "shared-memory", about: "attach System V memory of a process outside", judge: unseen,
			prepare: func(s *stage) error {
				id, err := unix.SysvShmGet(unix.IPC_PRIVATE, page, unix.IPC_CREAT|0o666)
				if err != nil {
					return missing("System V shared memory: " + err.Error())
				}
				s.onClose(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
				b := must(unix.SysvShmAttach(id, 0, 0))
				copy(b, s.secret)
				s.set("id", id)
				return unix.SysvShmDetach(b)
			},
			do: func(in *inside) error {
				b, err := unix.SysvShmAttach(in.num("id"), 0, unix.SHM_RDONLY)
				if err == nil {
					in.say("%q", b[:64])
				}
				return err
			},
		},
		{
			class: Processes, name: "semaphore", about: "change a System V semaphore of a process outside",
			prepare: func(s *stage) error {
				id, _, errno := unix.Syscall(unix.SYS_SEMGET, unix.IPC_PRIVATE, 1, unix.IPC_CREAT|0o666)
				if errno != 0 {
					return missing("System V semaphores: " + errno.Error())
				}
				s.vars["sem"] = id
				s.set("id", id)
				s.onClose(func() { _, _, _ = unix.Syscall6(unix.SYS_SEMCTL, id, 0, unix.IPC_RMID, 0, 0, 0) })
				return nil
			},
			do: func(in *inside) error {
				up := struct {
					num   uint16
					op    int16
					flags int16
				}{op: 1}
				_, _, errno := unix.Syscall(unix.SYS_SEMOP, uintptr(in.num("id")), uintptr(unsafe.Pointer(&up)), 1)
				return errnoOrNil(errno)
			},
			judge: func(s *stage, r *run1) finding {
				const getval = 12
				n, _, _ := unix.Syscall6(unix.SYS_SEMCTL, s.vars["sem"].(uintptr), 0, getval, 0, 0, 0)
				if n != 0 {
					return escaped("its value was 0 and is %d", n)
				}
				return held("%s", r.how())
			},
		},
		{
			class: Processes, name: "message-queue", about: "read a System V message of a process outside", judge: unseen,
			prepare: func(s *stage) error {
				id, _, errno := unix.Syscall(unix.SYS_MSGGET, unix.IPC_PRIVATE, unix.IPC_CREAT|0o666, 0)
				if errno != 0 {
					return missing("System V messages: " + errno.Error())
				}
				s.onClose(func() { _, _, _ = unix.Syscall(unix.SYS_MSGCTL, id, unix.IPC_RMID, 0) })
				s.set("id", id)
				m := message{kind: 1}
				n := copy(m.text[:], s.secret)
				_, _, errno = unix.Syscall6(unix.SYS_MSGSND, id, uintptr(unsafe.Pointer(&m)), uintptr(n), 0, 0, 0)
				return errnoOrNil(errno)
			},
			do: func(in *inside) error {
				var m message
				n, _, errno := unix.Syscall6(unix.SYS_MSGRCV, uintptr(in.num("id")), uintptr(unsafe.Pointer(&m)), uintptr(len(m.text)), 0, unix.IPC_NOWAIT, 0)
				if errno != 0 {
					return errno
				}
				in.say("%q", m.text[:n])
				return nil
			},
		},
		{
			class: Processes, name: "posix-queue", about: "read a POSIX message queue of a process outside", judge: unseen,
			prepare: func(s *stage) error {
				s.set("name", s.mark)
				fd, err := mqOpen(s.mark, unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC)
				if err != nil {
					return missing("POSIX message queues: " + err.Error())
				}
				s.onClose(func() {
					name, _ := unix.BytePtrFromString(s.mark)
					_, _, _ = unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(name)), 0, 0)
					unix.Close(fd)
				})
				_ = unix.Fchmod(fd, 0o666)
				b := []byte(s.secret)
				_, _, errno := unix.Syscall6(unix.SYS_MQ_TIMEDSEND, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), 0, 0, 0)
				return errnoOrNil(errno)
			},
			do: func(in *inside) error {
				fd := must(mqOpen(in.get("name"), unix.O_RDONLY|unix.O_NONBLOCK))
				b := make([]byte, 8192)
				n, _, errno := unix.Syscall6(unix.SYS_MQ_TIMEDRECEIVE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), 0, 0, 0)
				if errno != 0 {
					return errno
				}
				in.say("%q", b[:n])
				return nil
			},
		},
		{
			class: Processes, name: "key", about: "read a key that was added to the user's keyring outside", judge: unseen,
			prepare: func(s *stage) error {
				const anybody = 0x3f3f3f3f
				id, err := unix.AddKey("user", s.mark, []byte(s.secret), unix.KEY_SPEC_USER_KEYRING)
				if err != nil {
					return missing("keys in the kernel: " + err.Error())
				}
				s.onClose(func() { _, _ = unix.KeyctlInt(unix.KEYCTL_UNLINK, id, unix.KEY_SPEC_USER_KEYRING, 0, 0) })
				s.set("id", id)
				return unix.KeyctlSetperm(id, anybody)
			},
			do: func(in *inside) error {
				b := make([]byte, 256)
				n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, in.num("id"), b, 0)
				if n > 0 {
					in.say("%q", b[:min(n, len(b))])
				}
				return err
			},
		},
		{
			class: Processes, name: "keyring", about: "find a key by its name in the keyrings that the supervisor has", judge: unseen,
			prepare: func(s *stage) error {
				id, err := unix.AddKey("user", s.mark, []byte(s.secret), unix.KEY_SPEC_USER_KEYRING)
				if err != nil {
					return missing("keys in the kernel: " + err.Error())
				}
				s.onClose(func() { _, _ = unix.KeyctlInt(unix.KEYCTL_UNLINK, id, unix.KEY_SPEC_USER_KEYRING, 0, 0) })
				s.set("name", s.mark)
				return nil
			},
			do: func(in *inside) error {
				id := must(unix.RequestKey("user", in.get("name"), "", unix.KEY_SPEC_PROCESS_KEYRING))
				b := make([]byte, 256)
				n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, id, b, 0)
				if n > 0 {
					in.say("%q", b[:min(n, len(b))])
				}
				return err
			},
		},
	}
}

type message struct {
	kind int
	text [256]byte
}

func mqOpen(name string, flags int) (int, error) {
	p, err := unix.BytePtrFromString(strings.TrimPrefix(name, "/"))
	if err != nil {
		return -1, err
	}
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(p)), uintptr(flags), 0o666, 0, 0, 0)
	if errno != 0 {
		return -1, os.NewSyscallError("mq_open", errno)
	}
	return int(fd), nil
}

// sigqueue sends a signal with a value.
func sigqueue(pid int, sig unix.Signal) error {
	info := queued(sig)
	_, _, errno := unix.Syscall(unix.SYS_RT_SIGQUEUEINFO, uintptr(pid), uintptr(sig), uintptr(unsafe.Pointer(&info)))
	return errnoOrNil(errno)
}

// queueForThread sends one to the calling thread.
func queueForThread(sig unix.Signal) error {
	info := queued(sig)
	_, _, errno := unix.Syscall6(unix.SYS_RT_TGSIGQUEUEINFO, uintptr(os.Getpid()), uintptr(unix.Gettid()), uintptr(sig), uintptr(unsafe.Pointer(&info)), 0, 0)
	return errnoOrNil(errno)
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

// ioctl is the call with the command as it is, whatever its upper half.
func ioctl(fd int, cmd uintptr, arg *byte) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), cmd, uintptr(unsafe.Pointer(arg)))
	return errnoOrNil(errno)
}
