// Package initial makes a first configuration: of language servers, MCP servers
// and Neovim that somebody names, that an agent's mcp.json lists, or that are
// found on the machine.
//
// A [Machine] turns names into hosts, [Machine.FromAgent] reads what agents
// have, and [Render] is a pure function from hosts to the text of a file. All
// the package asks of the machine goes through two functions of Machine; it
// starts nothing and writes nothing. Nothing in it may be used by two goroutines
// at once, as nothing has to be.
//
// What comes from outside ends up in the file as quoted text or in a comment of
// one line, never as syntax: a value with quotes, ${ or line feeds in it reads
// back as what it was.
package initial
