package sys

import (
	"os"
	"strconv"
	"strings"
)

// MountRoom returns how many mounts a mount namespace can take besides copies of the
// present ones, and their paths; 0 if that is unknown.
func MountRoom() (room int, mounted []string) {
	b, err := os.ReadFile("/proc/sys/fs/mount-max")
	if err != nil {
		return 0, nil
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0, nil
	}
	if b, err = os.ReadFile("/proc/self/mountinfo"); err != nil {
		return 0, nil
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 4 {
			mounted = append(mounted, unescapeMount(f[4]))
		}
	}
	return max(limit-len(mounted), 1), mounted
}
