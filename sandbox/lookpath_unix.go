//go:build unix

package sandbox

import (
	"io/fs"

	"github.com/hostsup/hostsup/internal/sys"
)

func mayRun(p string, st fs.FileInfo) error {
	if st.Mode().Perm()&0o111 == 0 { // root too can only run files with the bit
		return fs.ErrPermission
	}
	return sys.Executable(p)
}
