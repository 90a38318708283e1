//go:build !unix || darwin || ios

package disk

import "github.com/hostsup/hostsup/workbench"

// HasTrash reports whether [FS.Trash] works on this system.
const HasTrash = false

// Trash returns the error for a system whose trash hostsup cannot use.
func (f FS) Trash(path string) error { return f.TrashAs(path, path) }

// TrashAs returns the error of [FS.Trash].
func (f FS) TrashAs(string, string) error {
	return workbench.NotSupported("workspace.fs.delete with useTrash", "hostsup knows no trash of this system")
}
