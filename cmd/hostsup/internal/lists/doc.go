// Package lists reads the lists of MCP servers and language servers that agents and
// editors keep: those of Claude, Codex, Cursor, Gemini, opencode, VS Code and Zed.
//
// [Read] parses the text of a file into [Server] values. It opens nothing: [Files]
// names the usual paths, and the caller reads them. Values refer to variables, secrets
// and inputs as the program that owns the file means it; see [Text].
//
// testdata/README.md names the public documents that the formats are taken from.
package lists
