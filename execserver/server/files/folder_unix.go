//go:build unix

package files

import (
	"io/fs"
	"os"
	"syscall"
)

const (
	// openFolder opens a folder and nothing else, without waiting.
	openFolder = os.O_RDONLY | syscall.O_DIRECTORY | syscall.O_NONBLOCK
	noFollow   = syscall.O_NOFOLLOW
)

// fileID tells files apart.
type fileID struct{ dev, ino uint64 }

// identify returns the fileID of a file that info describes.
func identify(info fs.FileInfo) (fileID, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, false
	}
	return fileID{uint64(s.Dev), uint64(s.Ino)}, true //nolint:unconvert // other widths elsewhere
}
