//go:build !hostsup_posix

package selftest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/sandbox/policy"
)

const page = 4096

// Protections of memory.
const (
	readWrite = unix.PROT_READ | unix.PROT_WRITE
	readRun   = unix.PROT_READ | unix.PROT_EXEC

	private = unix.MAP_PRIVATE | unix.MAP_ANON
	shared  = unix.MAP_SHARED | unix.MAP_ANON
)

// mapped is how the sandbox names that files it lets be written can be mapped.
var mapped = []string{"mapped into memory"}

// ownCode are attempts to run what the process has made itself: as a program that it starts, and as machine code in its
// memory. bubblewrap lets files, files in memory and writable memory be run; a file in memory gets past noexec mounts.
func ownCode() []*attempt {
	return slices.Concat(programs(), machineCodes(), family(OwnCode, attempt{}, []attempt{
		{name: "replace-tool", about: "overwrite a program that is granted for running", look: content("run/tool"),
			prepare: func(s *stage) {
				check(errors.Join(s.folder("run"), copyFile(s.path("run/tool"), s.path("read/file"), 0o777)))
			},
			change: func(s *stage, p *policy.Policy, _ *policy.Limits) { p.Exec = append(p.Exec, s.path("run")) },
			do:     puts("run/tool", "replaced", os.O_TRUNC)},
	}))
}

// programs are attempts to start a program of one's own, which would say the token.
func programs() []*attempt {
	starts := func(name string) func(*inside) error {
		return func(in *inside) error {
			cmd := in.child("say", in.get("token"))
			cmd.Path = in.path(name)
			return cmd.Run()
		}
	}
	// copies puts this program at a path and starts it there.
	copies := func(name string) func(*inside) error {
		return func(in *inside) error {
			check(copyFile(in.path(name), in.get("program"), 0o755))
			return starts(name)(in)
		}
	}
	tool := func(name string) func(*stage) {
		return func(s *stage) { check(copyFile(s.path(name), s.suite.program, 0o755)) }
	}
	// prints starts a command that prints the token.
	prints := func(path string, args ...string) error {
		cmd := exec.Command(path, args...)
		cmd.Stdout = os.Stdout
		return cmd.Run()
	}
	// memfd makes a file in memory that holds this program.
	memfd := func(in *inside, flags int) *os.File {
		f := memoryFile(flags)
		must(io.Copy(f, in.open("$program", os.O_RDONLY)))
		check(f.Chmod(0o755))
		return f
	}
	runsMemfd := func(flags int) func(*inside) error {
		return func(in *inside) error {
			cmd := in.child("say", in.get("token"))
			cmd.ExtraFiles = []*os.File{memfd(in, flags)}
			cmd.Path = descriptor(3)
			return cmd.Run()
		}
	}
	return family(OwnCode, attempt{judge: notRun}, []attempt{
		{name: "file", about: "start a program that was written to the granted folder", do: copies("write/own")},
		{name: "file-tmp", about: "start a program that was written to /tmp", do: copies("$tmp/own")},
		{name: "file-work", about: "start a program that was written to the bounded work folder", do: copies("work/own")},
		{name: "file-shm", about: "start a program that was written to /dev/shm", do: func(in *inside) error {
			defer func() { _ = os.Remove(in.path("/dev/shm/$token")) }()
			return copies("/dev/shm/$token")(in)
		}},
		{name: "script", about: "start a script that was written to the granted folder, by its first line",
			do: func(in *inside) error {
				path := in.path("write/own.sh")
				check(os.WriteFile(path, []byte("#!/bin/sh\necho "+in.get("token")+"\n"), 0o755))
				return prints(path)
			}},
		{name: "granted-read", about: "start a program that may only be read", prepare: tool("read/tool"), do: starts("read/tool")},
		{name: "granted-write", about: "start a program that lies in the folder that may be written",
			prepare: tool("write/tool"), do: starts("write/tool")},
		{name: "loader", about: "start an own program through the dynamic loader, which may be run", named: mapped,
			prepare: func(s *stage) {
				for _, pattern := range []string{"/lib64/ld-linux-*.so.*", "/lib/ld-linux-*.so.*", "/lib/ld-musl-*"} {
					if found, _ := filepath.Glob(pattern); len(found) > 0 {
						s.set("loader", found[0])
					}
				}
				echo, err := exec.LookPath("echo")
				needs(err == nil && s.params["loader"] != "", "a dynamic loader")
				s.set("echo", echo)
			},
			do: func(in *inside) error {
				check(copyFile(in.path("write/echo"), in.get("echo"), 0o755))
				return prints(in.get("loader"), in.path("write/echo"), in.get("token"))
			}},
		{name: "memfd", about: "start a program from a file in memory through /proc/self/fd", do: runsMemfd(0)},
		{name: "memfd-exec-flag", about: "the same, with the flag that asks for a runnable one", do: runsMemfd(unix.MFD_EXEC)},
		{name: "execveat", about: "start a program from a file in memory by its descriptor", do: func(in *inside) error {
			argv, _ := syscall.SlicePtrFromStrings([]string{partName, "child", "say", in.get("token")})
			envv, _ := syscall.SlicePtrFromStrings(partEnv("own"))
			return call(unix.SYS_EXECVEAT, memfd(in, unix.MFD_CLOEXEC).Fd(), uintptr(unsafe.Pointer(ptr(""))),
				uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&envv[0])), unix.AT_EMPTY_PATH)
		}},
	})
}

// machineCodes are attempts to run machine code that the process has written to memory.
func machineCodes() []*attempt {
	protects := func(protect func(p uintptr) error) func(*inside) error {
		return func(in *inside) error {
			p := mmap(page, readWrite, private, -1)
			copy(bytesAt(p, page), machineCode)
			check(protect(p))
			return codeAt(in, p)
		}
	}
	// mapsFile writes code to an open file and maps it to be run.
	mapsFile := func(in *inside, f *os.File, flags int) error {
		check(f.Truncate(page))
		must(f.WriteAt(machineCode, 0))
		return codeAt(in, mmap(page, readRun, flags, int(f.Fd())))
	}
	mapsNew := func(name string, flags int) func(*inside) error {
		return func(in *inside) error {
			return mapsFile(in, in.open(name, os.O_CREATE|os.O_RDWR), flags)
		}
	}
	mapsMemfd := func(flags int) func(*inside) error {
		return func(in *inside) error { return mapsFile(in, memoryFile(flags), unix.MAP_SHARED) }
	}
	// twice maps shared memory that may be run, and has write change it through a second view.
	twice := func(write func(addr uintptr) error) func(*inside) error {
		return func(in *inside) error {
			p := mmap(2*page, readRun, shared, -1)
			return errors.Join(write(p), codeAt(in, p))
		}
	}
	needCode := func(*stage) {
		needs(machineCode != nil, "machine code for "+runtime.GOARCH)
	}
	const shares = "map shared executable memory without a file and write to it by "
	return family(OwnCode, attempt{prepare: needCode, judge: notRun}, []attempt{
		{name: "map-write-exec", about: "map memory that is writable and executable", do: writesAndRuns},
		{name: "mprotect", about: "write code to memory and make that executable", do: protects(func(p uintptr) error {
			return unix.Mprotect(bytesAt(p, page), readRun)
		})},
		{name: "pkey-mprotect", about: "the same by pkey_mprotect", do: protects(func(p uintptr) error {
			return call(unix.SYS_PKEY_MPROTECT, p, page, readRun, ^uintptr(0))
		})},
		{name: "personality", about: "let readable memory be executable by personality, then write to it",
			do: func(in *inside) error {
				const readImpliesExec = 0x0400000
				check(failed("personality", call(unix.SYS_PERSONALITY, readImpliesExec)))
				return protects(func(uintptr) error { return nil })(in)
			}},
		{name: "map-own-file", about: "map a file of one's own in the granted folder as code", named: mapped,
			do: mapsNew("write/code", unix.MAP_PRIVATE)},
		{name: "map-own-file-shared", about: "the same, shared, so that it can be changed later", named: mapped,
			do: mapsNew("write/code", unix.MAP_SHARED)},
		{name: "map-own-file-tmp", about: "map a file of one's own in /tmp as code", named: mapped,
			do: mapsNew("$tmp/code", unix.MAP_PRIVATE)},
		{name: "map-memfd", about: "map a file in memory as code", do: mapsMemfd(0)},
		{name: "map-memfd-noexec", about: "map one as code that is sealed against being started",
			do: mapsMemfd(unix.MFD_NOEXEC_SEAL)},
		{name: "shared-memory-twice", about: "attach System V memory twice: once to write, once to run",
			do: func(in *inside) error {
				id, err := unix.SysvShmGet(unix.IPC_PRIVATE, page, unix.IPC_CREAT|0o700)
				check(failed("shmget", err))
				w, err := unix.SysvShmAttach(id, 0, 0)
				_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
				check(failed("shmat", err))
				copy(w, machineCode)
				x, err := raw(unix.SYS_SHMAT, uintptr(id), 0, unix.SHM_RDONLY|0o100000) // SHM_EXEC
				check(failed("shmat to run", err))
				return codeAt(in, x)
			}},
		{name: "shared-mremap", about: shares + "a second mapping of the same pages", do: twice(viewByMremap)},
		{name: "shared-fork", about: shares + "a child that shares them", do: twice(writeInChild)},
		{name: "shared-remap-file-pages", about: shares + "pages of the same memory that are put elsewhere",
			do: twice(func(addr uintptr) error {
				// The two pages of the mapping become the same one.
				check(failed("remap_file_pages", call(unix.SYS_REMAP_FILE_PAGES, addr+page, page)))
				return writeCode(addr + page)
			})},
		{name: "shared-zero", about: "do the same with memory of /dev/zero", do: func(in *inside) error {
			p := mmap(2*page, readRun, unix.MAP_SHARED, int(in.open("/dev/zero", os.O_RDWR).Fd()))
			return errors.Join(viewByMremap(p), codeAt(in, p))
		}},
		{name: "private-anonymous", about: "map executable memory without a file", do: func(in *inside) error {
			p := mmap(page, readRun, private, -1)
			in.say("%s at %#x", in.get("token"), p) // that it is there is enough
			return nil
		}},
		{name: "proc-self-mem", about: "write to one's own code through /proc/self/mem", do: func(in *inside) error {
			mem := in.open("/proc/self/mem", os.O_RDWR)
			// Read-only memory, as that of a program: what may be run and not written.
			p := mmap(page, readRun, unix.MAP_PRIVATE, int(in.open("$program", os.O_RDONLY).Fd()))
			must(mem.WriteAt(machineCode, int64(p)))
			return codeAt(in, p)
		}},
	})
}

// writesAndRuns maps memory that may be written and run, and does both.
func writesAndRuns(in *inside) error {
	p := mmap(page, readWrite|unix.PROT_EXEC, private, -1)
	if machineCode == nil {
		return nil
	}
	copy(bytesAt(p, page), machineCode)
	return codeAt(in, p)
}

// memoryFile makes a file in memory.
func memoryFile(flags int) *os.File {
	fd, err := unix.MemfdCreate("own", flags)
	check(failed("memfd_create", err))
	return os.NewFile(uintptr(fd), "memfd")
}

// codeAt calls machine code that returns 42 at an address and says the token when it did.
func codeAt(in *inside, addr uintptr) error {
	entry := &struct{ pc uintptr }{addr}
	call := *(*func() int)(unsafe.Pointer(&entry))
	if got := call(); got != 42 {
		return fmt.Errorf("it returned %d", got)
	}
	in.say("%s", in.get("token"))
	return nil
}

// mmap is the plain call: the package unix keeps books that are in the way.
func mmap(length, prot, flags, fd int) uintptr {
	p, err := raw(unix.SYS_MMAP, 0, uintptr(length), uintptr(prot), uintptr(flags), uintptr(fd), 0)
	check(failed("mmap", err))
	return p
}

// bytesAt makes the memory at an address a slice.
func bytesAt(addr uintptr, n int) []byte {
	p := *(*unsafe.Pointer)(unsafe.Pointer(&addr))
	return unsafe.Slice((*byte)(p), n)
}

// writeCode makes a page writable that could be run, and writes code to it.
func writeCode(addr uintptr) error {
	b := bytesAt(addr, page)
	check(failed("mprotect", unix.Mprotect(b, readWrite)))
	copy(b, machineCode)
	return nil
}

// viewByMremap writes to a second mapping of the pages at addr: an old size of 0 asks for one.
func viewByMremap(addr uintptr) error {
	view, err := raw(unix.SYS_MREMAP, addr, 0, page, unix.MREMAP_MAYMOVE)
	check(failed("mremap", err))
	return writeCode(view)
}

// writeInChild writes to the pages at addr in a child that shares them.
func writeInChild(addr uintptr) error {
	code := machineCode
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return failed("fork", errno)
	}
	if pid == 0 { // only plain calls and stores from here: there is no runtime in the copy
		_, _, errno = syscall.RawSyscall(syscall.SYS_MPROTECT, addr, page, readWrite)
		if errno == 0 {
			copy(bytesAt(addr, len(code)), code)
		}
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, uintptr(errno), 0, 0)
	}
	var ws syscall.WaitStatus
	must(syscall.Wait4(int(pid), &ws, 0, nil))
	if ws.ExitStatus() != 0 {
		return failed("mprotect in the child", syscall.Errno(ws.ExitStatus()))
	}
	return nil
}
