package workbench

import (
	"fmt"

	"github.com/hostsup/hostsup/codec"
)

// NameNoPermissions is the name of the error for what a host must not do with a file. Extensions
// get vscode.FileSystemError.NoPermissions.
const NameNoPermissions = "NoPermissions"

// NoPermissions returns the error for a file that a host must not use. It has the same text
// whether the file exists or not.
func NoPermissions(path string) error {
	return &codec.Error{Name: NameNoPermissions, Message: fmt.Sprintf("%s: the sandbox of the host does not allow this", path)}
}

// Refused returns the error of [NoPermissions] with the API that is refused, such as
// "workspace.updateWorkspaceFolders".
func Refused(api string, err error) error {
	return &codec.Error{Name: NameNoPermissions, Message: api + ": " + err.Error()}
}

// Use is what a host wants to do with a file of this machine.
type Use uint8

// The uses of a file or folder.
const (
	Read    Use = iota // read its content, metadata or entries; a final symbolic link is followed
	Write              // create it or change its content; a final symbolic link is followed
	Take               // read the entry itself and all that is below it; a final link is not followed
	Replace            // create, move or remove the entry itself with all that is below it; a final link is not followed
)

// Guard decides which files of this machine are used on behalf of a host, so that the supervisor
// is no way out of the host's sandbox. It must be safe for concurrent use.
type Guard interface {
	// Check returns where path leads, without symbolic links, if the host itself may use it this
	// way. path must be absolute. The error is that of [NoPermissions].
	//
	// NOTE: the host can put a link in the place of a folder after the check. The path that was
	// returned must therefore be opened without following links; package workbench/disk does.
	Check(path string, use Use) (real string, err error)
	// Confines reports whether the life of the host that runs, or ran last, is confined at all. If
	// not, the guard is not asked.
	Confines() bool
}

// inForce returns nil for a guard of a host that is not confined now.
func inForce(g Guard) Guard {
	if g == nil || !g.Confines() {
		return nil
	}
	return g
}

// Allowed checks one path. A nil guard allows everything.
func Allowed(g Guard, path string, use Use) error {
	if g == nil {
		return nil
	}
	_, err := g.Check(path, use)
	return err
}
