package sys

import (
	"bufio"
	"bytes"
	"os"

	"golang.org/x/sys/unix"
)

// ShedCleanPages removes from the memory of this process what it has mapped
// read-only from files and never changed: mostly the code and constants of its
// program. The pages stay in the page cache, and come back when they are accessed.
// It is for a process that will be idle for a long time.
func ShedCleanPages() error {
	fd, err := unix.Open("/proc/self/smaps", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "smaps") // os.Open would set the network poller up, which then stays
	defer f.Close()
	var clean []mapping
	var m mapping
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		line := sc.Bytes()
		if next, ok := parseMapping(line); ok {
			clean = m.addTo(clean)
			m = next
			continue
		}
		// A private page, in memory or swapped out, would be lost: for example a table that
		// the dynamic linker filled in before it was protected.
		name, value, _ := bytes.Cut(line, []byte{':'})
		switch string(name) {
		case "Anonymous", "Swap":
			if !bytes.Equal(bytes.TrimSpace(value), []byte("0 kB")) {
				m.own = true
			}
			m.known++
		}
	}
	clean = m.addTo(clean)
	// Last: this code is among the removed pages.
	for _, m := range clean {
		// The kernel refuses locked pages, which is fine.
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTNEED)
	}
	return sc.Err()
}

// mapping is one of the areas that /proc/self/smaps lists.
type mapping struct {
	start, end uintptr
	clean      bool // from a file, private, not writable
	own        bool // has pages that are not the file's
	known      int  // how many of the figures about such pages were present
}

func (m *mapping) addTo(clean []mapping) []mapping {
	if m.clean && !m.own && m.known == 2 {
		clean = append(clean, *m)
	}
	return clean
}

// parseMapping reads the first line of an area: its bounds, its permissions, and the
// file.
func parseMapping(line []byte) (m mapping, ok bool) {
	if len(line) > 0 && line[0] >= 'A' && line[0] <= 'Z' {
		return m, false // a figure
	}
	f := bytes.Fields(line)
	if len(f) < 5 || len(f[1]) != 4 {
		return m, false
	}
	start, end, ok := bytes.Cut(f[0], []byte{'-'})
	if !ok || !parseHex(start, &m.start) || !parseHex(end, &m.end) || m.end <= m.start {
		return mapping{}, false
	}
	m.clean = f[1][0] == 'r' && f[1][1] == '-' && f[1][3] == 'p' && string(f[4]) != "0"
	return m, true
}

func parseHex(b []byte, to *uintptr) bool {
	n := uintptr(0)
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | uintptr(c-'0')
		case c >= 'a' && c <= 'f':
			n = n<<4 | uintptr(c-'a'+10)
		default:
			return false
		}
	}
	*to = n
	return len(b) > 0
}
