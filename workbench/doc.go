// Package workbench answers what extensions of VS Code ask of their editor: it stands where the
// editor's workbench stood, without a window.
//
// A [Workbench] serves one host and the hosts beside it that its extensions were moved to. It
// consists of [Service] values, each with the methods of one or more main-thread objects
// (MainThreadFileSystem, MainThreadDocuments, …). The packages below have the services:
// workbench/files, for example, has files. A program puts together the services that it wants.
//
// # Calls
//
// A request of a host goes to the [Method] of its name. Handlers and rules of the program
// ([answer.Rule]) come first, and a request that no service has goes on to the protocol, which
// refuses it with the name of the API unless ignoring it is harmless.
//
// # News
//
// A service that tells hosts something implements [Follower]: it gets a [Host] for each life that
// is up, before any call is made to that life.
package workbench
