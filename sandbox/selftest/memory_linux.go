//go:build !hostsup_posix

package selftest

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// memoryNamed: a limit that is sampled comes late.
var memoryNamed = []string{"memory limit"}

// memories are attempts to use more memory than allowed.
func memories() []*attempt {
	// stays watches whether a tree that uses too much lives on with it.
	stays := func(s *stage, r *run1) {
		end := time.Now().Add(time.Second)
		for time.Now().Before(end) {
			select {
			case <-r.p.done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
		var sum int64
		for _, pid := range r.p.pids() {
			if rss, _, err := sys.ProcStat(pid); err == nil {
				sum += rss
			}
		}
		s.vars["rss"] = sum
	}
	tooMuch := func(s *stage, r *run1) finding {
		if rss, _ := s.vars["rss"].(int64); rss > memoryLimit*5/4 {
			return escaped("it lives with %d MiB, and %d are allowed", rss>>20, memoryLimit>>20)
		}
		return held("%s", r.how())
	}
	list := []*attempt{
		{
			class: Exhaustion, name: "memory", about: "use more memory than allowed in one process", change: limited, named: memoryNamed,
			do: func(in *inside) error {
				b := fill(2 * memoryLimit)
				in.pause()
				runtime.KeepAlive(b)
				return nil
			},
			watch: stays, judge: tooMuch,
		},
		{
			class: Exhaustion, name: "memory-shared-out", about: "use more memory than allowed, some in each of many processes", change: limited, named: memoryNamed,
			do: func(in *inside) error {
				const each = 48
				for n := 0; n < 2*memoryLimit>>20; n += each {
					kid := in.child("hold", strconv.Itoa(each))
					kid.Stdin, _, _ = os.Pipe()
					check(kid.Start())
				}
				in.pause()
				return nil
			},
			watch: stays, judge: tooMuch,
		},
	}
	// filled makes one that fills something that takes memory without being a
	// process's own.
	filled := func(name, about string, fill func(in *inside, told func(mib int)) error) {
		list = append(list, &attempt{
			class: Exhaustion, name: name, about: about, change: limited, named: memoryNamed,
			do: func(in *inside) error {
				return fill(in, func(mib int) { in.say("%d MiB", mib) })
			},
			judge: func(_ *stage, r *run1) finding {
				var mib int
				_, _ = fmt.Sscanf(r.last(), "%d MiB", &mib)
				if mib > memoryLimit*5/4>>20 {
					return escaped("%s, and %d are allowed", r.last(), memoryLimit>>20)
				}
				return held("%s", r.how())
			},
		})
	}
	filled("memory-memfd", "use more memory than allowed in a file in memory", func(_ *inside, told func(int)) error {
		fd, err := unix.MemfdCreate("fill", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
		if err != nil {
			return fmt.Errorf("memfd_create: %w", err)
		}
		return pour(os.NewFile(uintptr(fd), "memfd"), 2*memoryLimit, told)
	})
	filled("memory-system-v", "use more memory than allowed in System V segments", func(_ *inside, told func(int)) error {
		return fillSegments(told, false)
	})
	filled("memory-system-v-detached", "use more memory than allowed in segments that it does not keep attached", func(_ *inside, told func(int)) error {
		return fillSegments(told, true)
	})
	list[len(list)-1].named = nil // sampled or not, it is not to be missed
	filled("memory-tcp", "use more memory than allowed in what waits in TCP connections", fillTCP)
	// No file limit: connections are what it takes.
	list[len(list)-1].change = func(_ *stage, _ *policy.Policy, l *policy.Limits) {
		*l = policy.Limits{Memory: memoryLimit, Enforce: policy.BestEffort}
	}
	filled("memory-shm", "use more memory than allowed in /dev/shm", func(in *inside, told func(int)) error {
		path := "/dev/shm/" + partName + in.get("mark")
		var err error
		for i := 0; i < 2*memoryLimit/(8<<20) && err == nil; i++ {
			var f *os.File
			f, err = os.OpenFile(path+strconv.Itoa(i), os.O_CREATE|os.O_WRONLY, 0o600)
			if err == nil {
				defer func() { _ = os.Remove(f.Name()) }()
				err = pour(f, 8<<20, func(mib int) { told(i*8 + mib) })
				f.Close()
			}
		}
		return err
	})
	return list
}

// pour writes n bytes to w, and tells how many MiB it has written.
func pour(w io.Writer, n int, told func(mib int)) error {
	b := make([]byte, 1<<20)
	for i := range b {
		b[i] = byte(i)
	}
	for done := 0; done < n; done += len(b) {
		if _, err := w.Write(b); err != nil {
			return err
		}
		if told != nil {
			told(done>>20 + 1)
		}
	}
	return nil
}

// fillTCP writes to connections of its own that nobody reads from.
func fillTCP(_ *inside, told func(mib int)) error {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	b := make([]byte, 64<<10)
	const patience = 200 * time.Millisecond
	// Where there is a limit the kernel lets ever less through, and never nothing.
	end := time.Now().Add(4 * time.Second)
	for n, quiet := 0, 0; n < 2*memoryLimit && quiet < 20 && time.Now().Before(end); {
		c := must(net.DialTimeout("tcp", l.Addr().String(), patience))
		defer c.Close()
		_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(patience))
		other := must(l.Accept())
		defer other.Close()
		was := n
		for time.Now().Before(end) {
			_ = c.SetWriteDeadline(time.Now().Add(20 * time.Millisecond))
			m, err := c.Write(b)
			n += m
			if err != nil {
				break
			}
		}
		if quiet++; n>>20 > was>>20 {
			quiet = 0
		}
		told(n >> 20)
	}
	return nil
}

// fillSegments fills System V segments. Those that stay attached are removed with
// their process, those that are detached when all are full.
func fillSegments(told func(int), detach bool) error {
	const each = 16 << 20
	var ids []int
	defer func() {
		for _, id := range ids {
			_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		}
	}()
	for n := 0; n < 2*memoryLimit; n += each {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, each, unix.IPC_CREAT|0o600)
		if err != nil {
			return err
		}
		ids = append(ids, id)
		b, err := unix.SysvShmAttach(id, 0, 0)
		if err != nil {
			return err
		}
		if !detach {
			_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		}
		for i := 0; i < each; i += page {
			b[i] = 1
		}
		if detach {
			if err := unix.SysvShmDetach(b); err != nil {
				return err
			}
		}
		told((n + each) >> 20)
	}
	return nil
}
