//go:build !unix

package sys

import "io/fs"

// IDOf returns the zero value: this system has no such identity.
func IDOf(fs.FileInfo) FileID { return FileID{} }

// OwnersOf returns -1 for everything: it is unknown on this system.
func OwnersOf(fs.FileInfo) (uid, gid, names int) { return -1, -1, -1 }
