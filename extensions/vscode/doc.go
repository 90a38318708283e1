// Package vscode runs VS Code's extension hosts: the unmodified host program of an
// installed build. [New] returns their [codec.Protocol], which speaks the wire of package
// codec/vscode.
//
// # What a host is given
//
// The numbers of the actors are found in the bundle of the build, see [ReadBuild]. A host
// receives its extensions, its settings and its workspace from [Options]; the fields of
// [codec.Hello.Init] override those of the init data. The mementos and secrets of
// extensions are stored for them, see [Protocol.Serve] and [Protocol.Keep]. The end of a
// host is explained by its exit and its output.
//
// # Rendezvous
//
// The host connects to a unix socket of hostsup, or with [Options.Reconnect] it receives
// its sockets over an inherited descriptor; then another socket follows one that breaks,
// and no message is lost.
//
// # Bounds
//
// Writes wait while 64 MiB of frames are unacknowledged. The connection of a host that
// makes a million requests without acknowledging anything ends. A memento may have 16 MiB,
// and 4096 extensions may have 256 MiB of them in each of the two scopes; an update that
// does not fit fails.
//
// # Order and concurrency
//
// Messages are delivered once and in the order in which they were sent, also over several
// sockets.
package vscode
