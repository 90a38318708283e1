// Package mcp serves what VS Code extensions offer to MCP clients: their language model tools and
// commands are tools of an MCP server, with the schemas of their manifests.
//
// A [Server] stands in front of one extension host and the hosts beside it. It speaks both
// generations of MCP, by the official Go SDK. The tools that it lists are those of the present
// extensions, whether a host runs or not; clients are told of changes. A call of a tool activates
// its extension, which starts the host. Errors of extensions, crashes and time-outs are results of
// the tool with isError, so that an agent reads them.
package mcp
