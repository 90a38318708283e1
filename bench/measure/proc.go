package measure

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Process is what the kernel says of one process.
type Process struct {
	PID, Parent int
	Threads     int
	CPU         time.Duration // user and system, in the kernel's ticks of 10 ms
	RSS         int64         // bytes
	Exe         string        // "" when it can't be read
}

// ticks is USER_HZ, which is 100 on every architecture that Go runs on.
const ticks = 100

// ReadProcess reads /proc for pid; 0 means the caller.
func ReadProcess(pid int) (Process, error) {
	dir := "/proc/self"
	if pid != 0 {
		dir = "/proc/" + strconv.Itoa(pid)
	}
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return Process{}, err
	}
	return parse(dir, stat)
}

func parse(dir string, stat []byte) (Process, error) {
	var p Process
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return p, fmt.Errorf("%s/stat has no command in brackets", dir)
	}
	// Field 3 of stat(5), the state, comes first here.
	f := strings.Fields(string(stat[end+1:]))
	if len(f) < 22 {
		return p, fmt.Errorf("%s/stat has %d fields", dir, len(f)+2)
	}
	num := func(i int) int64 {
		n, err := strconv.ParseInt(f[i-3], 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(stat[:open])))
	if err != nil {
		return p, fmt.Errorf("%s/stat: %w", dir, err)
	}
	p.PID, p.Parent, p.Threads = pid, int(num(4)), int(num(20))
	p.CPU = time.Duration(num(14)+num(15)) * (time.Second / ticks)
	p.RSS = num(24) * int64(os.Getpagesize())
	p.Exe, _ = os.Readlink(filepath.Join(dir, "exe"))
	return p, nil
}

// Descendants returns the processes below pid, in no order.
func Descendants(pid int) ([]Process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	children := map[int][]Process{}
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		// One that ended since the folder was listed is none any more.
		if p, err := ReadProcess(n); err == nil {
			children[p.Parent] = append(children[p.Parent], p)
		}
	}
	var all []Process
	for queue := []int{pid}; len(queue) > 0; queue = queue[1:] {
		for _, c := range children[queue[0]] {
			all = append(all, c)
			queue = append(queue, c.PID)
		}
	}
	return all, nil
}
