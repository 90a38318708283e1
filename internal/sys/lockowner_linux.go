package sys

import (
	"bufio"
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
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return 0
	}
	defer locks.Close()
	inode := ":" + strconv.FormatUint(st.Ino, 10)
	// 1: FLOCK  ADVISORY  WRITE 4711 08:01:131078 0 EOF. The device is not
	// compared: some file systems have another one here than in stat.
	for lines := bufio.NewScanner(locks); lines.Scan(); {
		if w := strings.Fields(lines.Text()); len(w) >= 6 && w[1] == "FLOCK" && w[3] == "WRITE" && strings.HasSuffix(w[5], inode) {
			if pid, err := strconv.Atoi(w[4]); err == nil && pid > 0 {
				return pid
			}
		}
	}
	return 0
}
