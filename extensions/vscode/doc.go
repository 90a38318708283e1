// Package vscode is about the hosts of VS Code's extensions: the unmodified host
// program of an installed build. [New] returns their [codec.Protocol], which speaks
// the wire of package codec/vscode.
//
// # What it knows of a host
//
// The numbers of the actors are found in the bundle of the build, see [ReadBuild].
// A host is told its extensions, its settings and its workspace from [Options];
// [codec.Hello.Init] is put over the init data, field by field. What extensions
// remember and their secrets are kept for them, see [Protocol.Serve] and
// [Protocol.Keep]. How it ended is explained by its exit and what it has printed.
//
// # How it is met
//
// The host comes to a unix socket of ours, or with [Options.Reconnect] is handed its
// sockets over an inherited descriptor, where one that breaks is followed by
// another and nothing is lost.
//
// # Bounds
//
// 64 MiB may be unacknowledged in frames; then what is written waits. A host that
// makes a million requests without acknowledging anything is ended. What extensions
// have remembered has room for 16 MiB in a value, and for 4096 extensions and 256
// MiB in each of the two places; what does not fit is an error for who wants it
// remembered.
//
// # Order and concurrency
//
// Messages are delivered in the order in which they were sent, each once, also over
// several sockets.
package vscode
