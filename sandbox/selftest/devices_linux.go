//go:build !hostsup_posix

package selftest

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// devices are attempts on device files. What is opened is not written to, and
// read for a few bytes at most.
func devices() []*attempt {
	readSome := func(path string) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.Read(make([]byte, 16))
		return err
	}
	made := func(kind uint32, number func(s *stage) (int, bool)) (func(*stage) error, func(*inside) error) {
		return func(s *stage) error {
				n, ok := number(s)
				if !ok {
					return missing("a block device below the folder for temporary files")
				}
				s.set("number", n)
				return nil
			}, func(in *inside) error {
				path := in.get("write") + "/device"
				check(unix.Mknod(path, kind|0o666, in.num("number")))
				return readSome(path)
			}
	}
	zero := func(*stage) (int, bool) { return int(unix.Mkdev(1, 5)), true }
	disk := func(s *stage) (int, bool) {
		var st unix.Stat_t
		err := unix.Stat(s.dir, &st)
		return int(st.Dev), err == nil && unix.Major(st.Dev) != 0
	}
	charPrepare, charDo := made(unix.S_IFCHR, zero)
	blockPrepare, blockDo := made(unix.S_IFBLK, disk)
	list := []*attempt{
		{class: Devices, name: "make-character", about: "make a device file in the granted folder and read from it", prepare: charPrepare, do: charDo},
		{class: Devices, name: "make-block", about: "make a device file for the disk in the granted folder and read from it", prepare: blockPrepare, do: blockDo},
		{
			class: Devices, name: "open-disk", about: "read from the disk",
			prepare: func(s *stage) error {
				n, ok := disk(s)
				entries, _ := os.ReadDir("/dev")
				for _, e := range entries {
					var st unix.Stat_t
					if ok && unix.Stat("/dev/"+e.Name(), &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFBLK && int(st.Rdev) == n {
						s.set("disk", "/dev/"+e.Name())
						return nil
					}
				}
				return missing("a block device below the folder for temporary files")
			},
			do: func(in *inside) error { return readSome(in.get("disk")) },
		},
		{
			class: Devices, name: "open-terminal", about: "write to another process's terminal by its path",
			prepare: func(s *stage) error {
				t := must(s.terminal())
				s.set("terminal", t.path)
				return token(s)
			},
			do: func(in *inside) error { return put(in.get("terminal"), in.get("token"), unix.O_NOCTTY) },
			judge: func(s *stage, r *run1) finding {
				if shown := s.theTerminal().shown(); strings.Contains(shown, s.secret) {
					return escaped("it shows %q", shown)
				}
				return held("%s", r.how())
			},
		},
	}
	for _, d := range []struct{ name, path, about string }{
		{"open-kernel-log", "/dev/kmsg", "open the kernel's log"},
		{"open-memory", "/dev/mem", "open the machine's memory"},
		{"open-console", "/dev/console", "open the console"},
		{"open-tun", "/dev/net/tun", "open the maker of network devices"},
		{"open-fuse", "/dev/fuse", "open the door for file systems of one's own"},
		{"open-kvm", "/dev/kvm", "open the maker of virtual machines"},
		{"open-loop", "/dev/loop-control", "open the maker of loop devices"},
		{"open-userfaultfd", "/dev/userfaultfd", "open the maker of user fault handlers"},
	} {
		list = append(list, &attempt{
			class: Devices, name: d.name, about: d.about,
			prepare: func(*stage) error {
				if _, err := os.Stat(d.path); err != nil {
					return missing(d.path)
				}
				return nil
			},
			do: func(*inside) error {
				fd, err := unix.Open(d.path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
				if err != nil {
					fd, err = unix.Open(d.path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
				}
				if err == nil {
					unix.Close(fd)
				}
				return err
			},
		})
	}
	return list
}
