// Package workspace evaluates workspaceContains events: it tests whether plain names
// exist and searches for patterns with a time limit.
//
// All functions are safe for concurrent use and have no state. [Contains] accesses
// the workspace only through a [Finder]; [Dir] is the one for folders of this
// machine. A search does not follow links to folders and opens no file.
package workspace
