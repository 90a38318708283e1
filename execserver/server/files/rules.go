package files

import (
	"github.com/hostsup/hostsup/execserver/wire"
)

// Rules are what a sandbox object allows with files. Paths are absolute and
// have no links in them. The errors are those that a confined process would
// see: EACCES for what is denied, ENOENT for what is not shown to it, EROFS
// for what it may only read. They must be safe for concurrent use.
type Rules interface {
	// Read is about the content of a file, or the names in a folder.
	Read(real string) error
	// Write is about making, changing and removing what is at real.
	Write(real string) error
	// Clear is about removing real with all that is below it.
	Clear(real string) error
	// Sees reports whether a folder may be known of: it can be read, or leads
	// to something that can. What is not seen is not read either.
	Sees(real string) bool
}

// Enforcer makes the rules of a sandbox object, or says why it cannot: an
// object that cannot be enforced is refused, never passed over. Nil rules
// without an error: the object confines nothing.
type Enforcer func(*wire.SandboxContext) (Rules, *wire.Error)

// Refuse is an Enforcer that enforces nothing: it refuses every object that
// asks for it.
func Refuse(sb *wire.SandboxContext) (Rules, *wire.Error) {
	if open(sb) {
		return nil, nil
	}
	return nil, errCannotConfine
}

var errCannotConfine = wire.InvalidRequest("sandboxed file access is not available on this server")

// open reports whether an object confines no files: nobody does, somebody
// around this server does, or they are left out of it.
func open(sb *wire.SandboxContext) bool {
	switch sb.Permissions.Type {
	case wire.PermissionsDisabled, wire.PermissionsExternal:
		return true
	case wire.PermissionsManaged:
		return sb.Permissions.FileSystem != nil && sb.Permissions.FileSystem.Type == wire.FileSystemUnrestricted
	}
	return false
}
