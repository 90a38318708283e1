// Package lsp serves what VS Code extensions know about documents to clients of the Language Server
// Protocol (3.17): editors use the extensions as a language server.
//
// A [Server] stands in front of one extension host and the hosts beside it. Its clients share the
// documents of the workbench: a document that several clients have open has one text, that of the
// client which changed it or asked about it last. What extensions change in it is sent to that client.
// The documents outlive the hosts, so that the next life of a host has them.
package lsp
