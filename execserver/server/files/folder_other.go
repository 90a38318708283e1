//go:build !unix

package files

import (
	"io/fs"
	"os"
)

const (
	openFolder = os.O_RDONLY
	noFollow   = 0 // requests are not confined on these systems
)

type fileID struct{}

// identify cannot tell files apart here; the limits of a walk end one in circles.
func identify(fs.FileInfo) (fileID, bool) { return fileID{}, false }
