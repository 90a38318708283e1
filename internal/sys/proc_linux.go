package sys

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// clockTick is the unit of times in /proc/PID/stat: USER_HZ, which is 100 on
// every architecture that Go supports.
const clockTick = 10 * time.Millisecond

var pageSize = int64(os.Getpagesize())

// ProcStat returns the memory in bytes and the processor time of process pid.
func ProcStat(pid int) (rss int64, cpu time.Duration, err error) {
	st, err := ReadStat(pid)
	return st.RSS, st.CPU, err
}

// ReadStat reads /proc/PID/stat. fs.ErrNotExist or ESRCH means that there is no such
// process.
func ReadStat(pid int) (Stat, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Stat{}, err
	}
	st, err := parseStat(b)
	if err != nil {
		return Stat{}, fmt.Errorf("/proc/%d/stat: %w", pid, err)
	}
	return st, nil
}

func parseStat(b []byte) (Stat, error) {
	// The name is in brackets and may contain any character, also brackets and spaces.
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return Stat{}, fmt.Errorf("no name in %q", b)
	}
	f := bytes.Fields(b[i+1:]) // f[0] is field 3 of proc_pid_stat(5)
	if len(f) < 22 || len(f[0]) != 1 {
		return Stat{}, fmt.Errorf("%d fields", len(f)+2)
	}
	var n [22]uint64
	for _, k := range []int{1, 2, 11, 12, 13, 14, 17, 19, 21} {
		v, err := strconv.ParseInt(string(f[k]), 10, 64)
		if err != nil {
			return Stat{}, err
		}
		n[k] = uint64(v)
	}
	return Stat{
		Parent: int(n[1]),
		Group:  int(n[2]),
		State:  f[0][0],
		RSS:    int64(n[21]) * pageSize,
		CPU:    time.Duration(n[11]+n[12]) * clockTick,
		Reaped: time.Duration(n[13]+n[14]) * clockTick,
		Start:  n[19],

		Threads: int(n[17]),
	}, nil
}

// Children lists the children of process pid that are not reaped yet, including
// zombies. An ended process has none. It returns ErrUnsupported if the kernel was
// built without /proc/PID/task/TID/children.
func Children(pid int) ([]int, error) {
	base := "/proc/" + strconv.Itoa(pid) + "/task/"
	tids, err := readNames(base)
	if err != nil {
		return nil, nil //nolint:nilerr // it has ended, and has no children
	}
	var pids []int
	seen := false
	for _, tid := range tids {
		b, err := os.ReadFile(base + tid + "/children")
		if err != nil {
			continue // that thread has ended
		}
		seen = true
		for _, f := range bytes.Fields(b) {
			if n, err := strconv.Atoi(string(f)); err == nil {
				pids = append(pids, n)
			}
		}
	}
	if !seen {
		if _, err := os.Stat("/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/children"); err != nil {
			return nil, ErrUnsupported
		}
	}
	return pids, nil
}

// GroupMembers lists the processes of the process group pgid that have not ended. It
// examines all processes of the system, one after the other.
func GroupMembers(pgid int) ([]int, error) {
	names, err := readNames("/proc")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if st, err := ReadStat(pid); err == nil && st.Group == pgid && !st.Ended() {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// Descendants lists the children of pid, their children, and so on, nearest first.
// The list is not a snapshot: processes that start or change their parent meanwhile
// may be missing.
func Descendants(pid int) ([]int, error) {
	var all []int
	seen := map[int]bool{pid: true}
	for next := []int{pid}; len(next) > 0; {
		p := next[0]
		next = next[1:]
		kids, err := Children(p)
		if err != nil {
			return all, err
		}
		for _, k := range kids {
			if !seen[k] {
				seen[k] = true
				all = append(all, k)
				next = append(next, k)
			}
		}
	}
	return all, nil
}
