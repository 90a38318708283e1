package sys

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// LockOwner returns the process that has the lock of an open file or folder, for
// messages: 0 if it is unknown.
func LockOwner(f *os.File) int {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return 0
	}
	locks, _ := os.ReadFile("/proc/locks")
	inode := ":" + strconv.FormatUint(st.Ino, 10)
	// 1: FLOCK  ADVISORY  WRITE 4711 08:01:131078 0 EOF. The device is not
	// compared: some file systems have another one here than in stat.
	for _, line := range strings.Split(string(locks), "\n") {
		if w := strings.Fields(line); len(w) >= 6 && w[1] == "FLOCK" && w[3] == "WRITE" && strings.HasSuffix(w[5], inode) {
			if pid, err := strconv.Atoi(w[4]); err == nil && pid > 0 {
				return pid
			}
		}
	}
	return 0
}
