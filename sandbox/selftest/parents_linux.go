//go:build !hostsup_posix

package selftest

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// parents are attempts on the process that has started this one: the
// supervisor, or a helper of the sandbox's with more rights.
func parents() []*attempt {
	parent := func() int { return max(os.Getppid(), 1) }
	return []*attempt{
		{
			class: Processes, name: "parent-descriptors", about: "take a descriptor from the process that has started it",
			do: func(*inside) error {
				p, err := unix.PidfdOpen(parent(), 0)
				if err != nil {
					return fmt.Errorf("pidfd_open: %w", err)
				}
				for fd := range 64 {
					var got int
					if got, err = unix.PidfdGetfd(p, fd, 0); err == nil {
						unix.Close(got)
						return nil
					}
				}
				return err
			},
		},
		{
			class: Processes, name: "parent-memory", about: "open the memory of the process that has started it",
			do: func(*inside) error {
				f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", parent()), os.O_RDWR, 0)
				if err == nil {
					f.Close()
				}
				return err
			},
		},
		{
			class: Processes, name: "parent-maps", about: "read the memory map of the process that has started it",
			do: func(*inside) error {
				b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", parent()))
				if err == nil && len(b) == 0 {
					return syscall.EACCES
				}
				return err
			},
		},
		{
			class: Processes, name: "parent-proc-fd", about: "list the descriptors of the process that has started it",
			do: func(*inside) error {
				_, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", parent()))
				return err
			},
		},
		{
			class: Processes, name: "parent-ptrace", about: "trace the process that has started it",
			do: func(*inside) error { return unix.PtraceSeize(parent()) },
		},
		{
			class: Processes, name: "parent-limits", about: "set the limits of the process that has started it",
			do: func(*inside) error {
				var l unix.Rlimit // what they are already
				check(unix.Prlimit(parent(), unix.RLIMIT_CORE, nil, &l))
				return unix.Prlimit(parent(), unix.RLIMIT_CORE, &l, nil)
			},
		},
		{
			class: Processes, name: "parent-environ", about: "read the environment of the process that has started it",
			do: func(in *inside) error {
				b := must(os.ReadFile(fmt.Sprintf("/proc/%d/environ", parent())))
				return sayDigests(in, strings.Split(string(b), "\x00"))
			},
			judge: knowsEnvironment,
		},
	}
}
