//go:build unix

package busypoll

import "github.com/hostsup/hostsup/internal/sys"

const canPoll = true

// readNow reads without blocking and returns the number of bytes; 0 also stands for
// an end or an error, which a blocking read returns again.
func readNow(fd uintptr, p []byte) int {
	n, _, err := sys.ReadNow(fd, p)
	if err != nil {
		return 0
	}
	return n
}
