// Package sessions has the lifetime of the servers in front of a host of extensions, for LSP clients
// and for MCP clients: which clients are served, and how all of them are sent away.
package sessions
