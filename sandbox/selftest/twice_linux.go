//go:build !hostsup_posix

package selftest

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// secondViews are ways to see executable memory a second time, so that one
// view can be made writable. Each gets the address of a page that may be run
// and returns once code has been written to it.
var secondViews = []struct {
	name, about string
	write       func(addr uintptr) error
}{
	{"mremap", "by a second mapping of the same pages", func(addr uintptr) error {
		view, _, errno := unix.Syscall6(unix.SYS_MREMAP, addr, 0, page, unix.MREMAP_MAYMOVE, 0, 0)
		if errno != 0 {
			return fmt.Errorf("mremap: %w", errno)
		}
		return writeCode(view)
	}},
	{"fork", "by a child that shares them", func(addr uintptr) error {
		code := machineCode
		pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			return fmt.Errorf("fork: %w", errno)
		}
		if pid == 0 { // only plain calls and stores from here: there is no runtime in the copy
			_, _, errno = syscall.RawSyscall(syscall.SYS_MPROTECT, addr, page, unix.PROT_READ|unix.PROT_WRITE)
			if errno == 0 {
				copy(bytesAt(addr, len(code)), code)
			}
			_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, uintptr(errno), 0, 0)
		}
		var ws syscall.WaitStatus
		if _, err := syscall.Wait4(int(pid), &ws, 0, nil); err != nil {
			return err
		}
		if ws.ExitStatus() != 0 {
			return fmt.Errorf("mprotect in the child: %w", syscall.Errno(ws.ExitStatus()))
		}
		return nil
	}},
	{"remap-file-pages", "by pages of the same memory that are put elsewhere", func(addr uintptr) error {
		// The two pages of the mapping become the same one.
		if _, _, errno := unix.Syscall6(unix.SYS_REMAP_FILE_PAGES, addr+page, page, 0, 0, 0, 0); errno != 0 {
			return fmt.Errorf("remap_file_pages: %w", errno)
		}
		return writeCode(addr + page)
	}},
}

// writeCode makes a page writable that could be run, and writes code to it.
func writeCode(addr uintptr) error {
	b := bytesAt(addr, page)
	if err := unix.Mprotect(b, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		return fmt.Errorf("mprotect: %w", err)
	}
	copy(b, machineCode)
	return nil
}

// mapsTwice adds the attempts to write to executable memory by another view.
func mapsTwice(machine func(name, about string, do func(in *inside) error)) {
	for _, v := range secondViews {
		machine("shared-"+v.name, "map shared executable memory without a file and write to it "+v.about, func(in *inside) error {
			p := must(mmap(0, 2*page, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_SHARED|unix.MAP_ANON, -1))
			return errors.Join(v.write(p), codeAt(in, p))
		})
	}
	machine("shared-zero", "do the same with memory of /dev/zero", func(in *inside) error {
		f := must(os.OpenFile("/dev/zero", os.O_RDWR, 0))
		defer f.Close()
		p := must(mmap(0, 2*page, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_SHARED, int(f.Fd())))
		return errors.Join(secondViews[0].write(p), codeAt(in, p))
	})
	machine("private-anonymous", "map executable memory without a file", func(in *inside) error {
		p := must(mmap(0, page, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON, -1))
		in.say("%s at %#x", in.get("token"), p) // that it is there is enough
		return nil
	})
}
