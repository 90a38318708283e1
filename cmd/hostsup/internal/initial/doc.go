// Package initial makes a first configuration of language servers, MCP servers and
// Neovim that the user names, that an agent's mcp.json lists, or that are found on
// the machine.
//
// A [Machine] converts names into hosts, [Machine.FromList] the entries of agents' lists,
// [Machine.Guard] takes secrets out of them, and [Render] is a pure function from hosts
// to the text of a file. The package accesses the machine only through functions of
// Machine; [Here] returns the real ones. It writes nothing. Its values must not be used
// by two goroutines at once.
//
// Input ends up in the file as quoted text or in a comment of one line, never as
// syntax: a value with quotes, ${ or line feeds reads back unchanged.
package initial
