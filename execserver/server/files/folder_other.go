//go:build !unix

package files

import (
	"io/fs"
	"os"
)

const openFolder = os.O_RDONLY

type fileID struct{}

// identify knows of no way here; the limits end a walk in circles.
func identify(fs.FileInfo) (fileID, bool) { return fileID{}, false }
