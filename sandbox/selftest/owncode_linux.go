//go:build !hostsup_posix

package selftest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// token is what code that must not run says.
func token(s *stage) error {
	s.set("token", s.secret)
	return nil
}

// notRun is a judge: the token must not come out.
func notRun(s *stage, r *run1) finding {
	if r.saw(s.secret) {
		return escaped("own code ran")
	}
	return held("%s", r.how())
}

// runsFile puts this program at path and starts it there.
func runsFile(in *inside, path string) error {
	check(copyFile(path, in.get("program"), 0o755))
	cmd := in.child("say", in.get("token"))
	cmd.Path = path
	return cmd.Run()
}

// memfd makes a file in memory that holds this program.
func memfd(in *inside, flags int) (*os.File, error) {
	fd, err := unix.MemfdCreate("own", flags)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), "memfd")
	from := must(os.Open(in.get("program")))
	defer from.Close()
	must(io.Copy(f, from))
	return f, f.Chmod(0o755)
}

func runsMemfd(in *inside, flags int) error {
	f := must(memfd(in, flags))
	cmd := in.child("say", in.get("token"))
	cmd.ExtraFiles = []*os.File{f}
	cmd.Path = "/proc/self/fd/3"
	return cmd.Run()
}

// codeAt calls machine code that returns 42 at an address and says the token
// when it did.
func codeAt(in *inside, addr uintptr) error {
	entry := &struct{ pc uintptr }{addr}
	call := *(*func() int)(unsafe.Pointer(&entry))
	if got := call(); got != 42 {
		return fmt.Errorf("it returned %d", got)
	}
	in.say("%s", in.get("token"))
	return nil
}

const page = 4096

// mmap is the plain call: the package unix keeps books that are in the way.
func mmap(addr uintptr, length, prot, flags, fd int) (uintptr, error) {
	p, _, errno := unix.Syscall6(unix.SYS_MMAP, addr, uintptr(length), uintptr(prot), uintptr(flags), uintptr(fd), 0)
	if errno != 0 {
		return 0, fmt.Errorf("mmap: %w", errno)
	}
	return p, nil
}

// bytesAt makes the memory at an address a slice.
func bytesAt(addr uintptr, n int) []byte {
	p := *(*unsafe.Pointer)(unsafe.Pointer(&addr))
	return unsafe.Slice((*byte)(p), n)
}

// mapsFile writes code to an open file and maps it to be run.
func mapsFile(in *inside, f *os.File, flags int) error {
	check(f.Truncate(page))
	must(f.WriteAt(machineCode, 0))
	p := must(mmap(0, page, unix.PROT_READ|unix.PROT_EXEC, flags, int(f.Fd())))
	return codeAt(in, p)
}

func mapsNew(in *inside, path string, flags int) error {
	f := must(os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o755))
	defer f.Close()
	return mapsFile(in, f, flags)
}

// mapped is how the sandbox names that files it lets be written can be mapped.
var mapped = []string{"mapped into memory"}

// ownCode are attempts to run what the process has made itself.
func ownCode() []*attempt {
	var list []*attempt
	add := func(name, about string, do func(in *inside) error) *attempt {
		list = append(list, &attempt{class: OwnCode, name: name, about: about, prepare: token, do: do, judge: notRun})
		return list[len(list)-1]
	}
	// machine adds one that needs code for this processor.
	machine := func(name, about string, do func(in *inside) error) {
		at := add(name, about, do)
		at.prepare = func(s *stage) error {
			if machineCode == nil {
				return missing("machine code for " + runtime.GOARCH)
			}
			return token(s)
		}
		if strings.HasPrefix(name, "map-own-file") {
			at.named = mapped
		}
	}
	add("file", "start a program that was written to the granted folder",
		func(in *inside) error { return runsFile(in, in.get("write")+"/own") })
	add("file-tmp", "start a program that was written to /tmp",
		func(in *inside) error { return runsFile(in, in.get("tmp")+"/own") })
	add("file-work", "start a program that was written to the bounded work folder",
		func(in *inside) error { return runsFile(in, in.get("work")+"/own") })
	add("file-shm", "start a program that was written to /dev/shm", func(in *inside) error {
		path := "/dev/shm/" + in.get("token")
		defer func() { _ = os.Remove(path) }()
		return runsFile(in, path)
	})
	add("script", "start a script that was written to the granted folder, by its first line", func(in *inside) error {
		path := in.get("write") + "/own.sh"
		check(os.WriteFile(path, []byte("#!/bin/sh\necho "+in.get("token")+"\n"), 0o755))
		cmd := exec.Command(path)
		cmd.Stdout = os.Stdout
		return cmd.Run()
	})
	add("granted-read", "start a program that may only be read", func(in *inside) error {
		cmd := in.child("say", in.get("token"))
		cmd.Path = in.get("read") + "/tool"
		return cmd.Run()
	}).prepare = func(s *stage) error {
		check(copyFile(s.path("read/tool"), s.suite.program, 0o755))
		return token(s)
	}
	add("granted-write", "start a program that lies in the folder that may be written", func(in *inside) error {
		cmd := in.child("say", in.get("token"))
		cmd.Path = in.get("write") + "/tool"
		return cmd.Run()
	}).prepare = func(s *stage) error {
		check(copyFile(s.path("write/tool"), s.suite.program, 0o755))
		return token(s)
	}
	loader := add("loader", "start an own program through the dynamic loader, which may be run", func(in *inside) error {
		path := in.get("write") + "/echo"
		check(copyFile(path, in.get("echo"), 0o755))
		cmd := exec.Command(in.get("loader"), path, in.get("token"))
		cmd.Stdout = os.Stdout
		return cmd.Run()
	})
	loader.named = mapped
	loader.prepare = func(s *stage) error {
		for _, pattern := range []string{"/lib64/ld-linux-*.so.*", "/lib/ld-linux-*.so.*", "/lib/ld-musl-*"} {
			if found, _ := filepath.Glob(pattern); len(found) > 0 {
				s.set("loader", found[0])
			}
		}
		echo, err := exec.LookPath("echo")
		if err != nil || s.params["loader"] == "" {
			return missing("a dynamic loader")
		}
		s.set("echo", echo)
		return token(s)
	}
	add("memfd", "start a program from a file in memory through /proc/self/fd",
		func(in *inside) error { return runsMemfd(in, 0) })
	add("memfd-exec-flag", "the same, with the flag that asks for a runnable one",
		func(in *inside) error { return runsMemfd(in, unix.MFD_EXEC) })
	add("execveat", "start a program from a file in memory by its descriptor", func(in *inside) error {
		f := must(memfd(in, unix.MFD_CLOEXEC))
		empty, _ := syscall.BytePtrFromString("")
		argv, _ := syscall.SlicePtrFromStrings([]string{partName, "child", "say", in.get("token")})
		envv, _ := syscall.SlicePtrFromStrings(partEnv("own"))
		_, _, errno := unix.Syscall6(unix.SYS_EXECVEAT, f.Fd(), uintptr(unsafe.Pointer(empty)),
			uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&envv[0])), unix.AT_EMPTY_PATH, 0)
		return errno
	})
	machine("map-write-exec", "map memory that is writable and executable", func(in *inside) error {
		p := must(mmap(0, page, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON, -1))
		copy(bytesAt(p, page), machineCode)
		return codeAt(in, p)
	})
	protects := func(protect func(p uintptr) error) func(*inside) error {
		return func(in *inside) error {
			p := must(mmap(0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON, -1))
			copy(bytesAt(p, page), machineCode)
			check(protect(p))
			return codeAt(in, p)
		}
	}
	machine("mprotect", "write code to memory and make that executable", protects(func(p uintptr) error {
		return unix.Mprotect(bytesAt(p, page), unix.PROT_READ|unix.PROT_EXEC)
	}))
	machine("pkey-mprotect", "the same by pkey_mprotect", protects(func(p uintptr) error {
		_, _, errno := unix.Syscall6(unix.SYS_PKEY_MPROTECT, p, page, unix.PROT_READ|unix.PROT_EXEC, ^uintptr(0), 0, 0)
		return errnoOrNil(errno)
	}))
	machine("personality", "let readable memory be executable by personality, then write to it", func(in *inside) error {
		const readImpliesExec = 0x0400000
		if _, _, errno := unix.Syscall(unix.SYS_PERSONALITY, readImpliesExec, 0, 0); errno != 0 {
			return fmt.Errorf("personality: %w", errno)
		}
		return protects(func(uintptr) error { return nil })(in)
	})
	machine("map-own-file", "map a file of one's own in the granted folder as code",
		func(in *inside) error { return mapsNew(in, in.get("write")+"/code", unix.MAP_PRIVATE) })
	machine("map-own-file-shared", "the same, shared, so that it can be changed later",
		func(in *inside) error { return mapsNew(in, in.get("write")+"/code", unix.MAP_SHARED) })
	machine("map-own-file-tmp", "map a file of one's own in /tmp as code",
		func(in *inside) error { return mapsNew(in, in.get("tmp")+"/code", unix.MAP_PRIVATE) })
	mapsMemfd := func(flags int) func(*inside) error {
		return func(in *inside) error {
			fd, err := unix.MemfdCreate("own", flags)
			if err != nil {
				return fmt.Errorf("memfd_create: %w", err)
			}
			return mapsFile(in, os.NewFile(uintptr(fd), "memfd"), unix.MAP_SHARED)
		}
	}
	machine("map-memfd", "map a file in memory as code", mapsMemfd(0))
	machine("map-memfd-noexec", "map one as code that is sealed against being started", mapsMemfd(unix.MFD_NOEXEC_SEAL))
	machine("shared-memory-twice", "attach System V memory twice: once to write, once to run", func(in *inside) error {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, page, unix.IPC_CREAT|0o700)
		if err != nil {
			return fmt.Errorf("shmget: %w", err)
		}
		w, err := unix.SysvShmAttach(id, 0, 0)
		_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		if err != nil {
			return fmt.Errorf("shmat: %w", err)
		}
		copy(w, machineCode)
		x, _, errno := unix.Syscall(unix.SYS_SHMAT, uintptr(id), 0, unix.SHM_RDONLY|0o100000) // SHM_EXEC
		if errno != 0 {
			return fmt.Errorf("shmat to run: %w", errno)
		}
		return codeAt(in, x)
	})
	mapsTwice(machine)
	machine("proc-self-mem", "write to one's own code through /proc/self/mem", func(in *inside) error {
		f := must(os.OpenFile("/proc/self/mem", os.O_RDWR, 0))
		defer f.Close()
		// Read-only memory, as that of a program: what may be run and not written.
		p := must(mapCode(in))
		must(f.WriteAt(machineCode, int64(p)))
		return codeAt(in, p)
	})
	list = append(list, &attempt{
		class: OwnCode, name: "replace-tool", about: "overwrite a program that is granted for running",
		prepare: func(s *stage) error {
			check(os.Mkdir(s.path("run"), 0o777))
			s.set("tool", s.path("run/tool"))
			return copyFile(s.path("run/tool"), s.path("read/file"), 0o777)
		},
		change: func(s *stage, p *policy.Policy, _ *policy.Limits) { p.Exec = append(p.Exec, s.path("run")) },
		do:     func(in *inside) error { return put(in.get("tool"), "replaced", os.O_TRUNC) },
		judge: func(s *stage, r *run1) finding {
			if now := s.read("run/tool"); now != "granted" {
				return escaped("it is now %q", now)
			}
			return held("%s", r.how())
		},
	})
	return list
}

// mapCode maps a page of this program's own file, to be read and run.
func mapCode(in *inside) (uintptr, error) {
	f := must(os.Open(in.get("program")))
	defer f.Close()
	return mmap(0, page, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE, int(f.Fd()))
}

func errnoOrNil(errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}
