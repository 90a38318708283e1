// Package files answers the fs methods of an exec server: reading and writing
// whole files, folders, walks, copies, open files by block, and a hint when
// something that was missing appears.
//
// # What it promises
//
// Every method may be called at any time and side by side with others. Paths
// are those of the server; a client may name any that the process it is served
// by may use. This package does not confine: [Files.Do] does not look at the
// sandbox object of a request. The caller must hand a request that is to be
// confined to a worker ([WorkerName]), which is another process of this program
// under a policy, by a [Remote].
//
// No method blocks on a file: a fifo, a device or a socket is told from a file
// before a byte is read, and opening one does not block. Memory is bounded by
// [Limits], by the limits of a walk, and by the size of the one file that is
// read; copies and removals take a fixed amount. Names that are not UTF-8 are kept
// in URIs, where they are escaped; in the names of readDirectory each such byte
// reads U+FFFD.
//
// Errors are those of the protocol: a path that is missing is
// wire.CodeNotFound, what the system does not permit or takes for invalid is
// wire.CodeInvalidRequest, every other error of the system wire.CodeInternal,
// each in the words of the system with its number.
//
// # Connections
//
// Open files and watches belong to one connection: each has a [Files] of its
// own, and [Files.Close] ends what it holds. The only goroutine is that of a
// watch; it ends with the watch. A Remote has one goroutine, which Close ends.
package files
