// Package disk reads and changes files of this machine on behalf of hosts, with the errors and the
// rules of VS Code's disk file system.
//
// # What it promises
//
// A file is replaced whole or not at all: its new content is written beside it and renamed. Modes
// are kept; set-user-id and set-group-id bits are not copied. Symbolic links are followed to the
// file that is read or written, and are themselves moved, copied and removed. Nothing existing is
// overwritten unless the caller says so.
//
// With a [workbench.Guard], nothing is read or changed that the guard does not allow, also if the
// host exchanges folders for symbolic links at the same time: folders are opened part by part
// without following links.
//
// All functions may be called concurrently. The package starts no goroutine and has no state.
package disk
