package sys

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// CheckSocketPath returns an error if a path is too long for a unix socket.
func CheckSocketPath(path string) error {
	limit := 103
	if runtime.GOOS == "linux" {
		limit = 107
	}
	if len(path) > limit {
		// Not filepath.Dir: package helper must not wait for the packages behind it.
		dir := path[:max(0, strings.LastIndexByte(path, os.PathSeparator))]
		return fmt.Errorf("the path of a socket in %s takes %d bytes, limit %d: set TMPDIR to a shorter one", dir, len(path), limit)
	}
	return nil
}
