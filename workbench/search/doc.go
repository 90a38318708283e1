// Package search finds files and text for extensions of VS Code: workspace.findFiles, findFiles2,
// findTextInFiles and findTextInFiles2.
//
// Files are found by reading folders side by side. For text there are two engines with the same
// results: ripgrep, which is run as a process if it is found, and a slower one of this package. Both
// leave out binary files (those with a zero byte). Searches heed .gitignore, .ignore and .rgignore, and
// follow links unless the extension or the settings say otherwise. Columns are those of VS Code: UTF-16 units.
//
// Expressions are those of JavaScript where both engines can have them: \b, \d and \w are of ASCII,
// a dot does not match \r. Look-around and back-references need a ripgrep with PCRE2.
// Files of more than 256 MiB are searched by ripgrep only. Bytes that are wrong in the encoding of a file match expressions such as [^a] with the engine of
// this package only.
//
// At most 100,000 matches of one file are reported; more end the search, and the extension learns that
// the limit was hit.
//
// For a host that is confined the engine is that of this package. It follows no links and finds only
// what the sandbox of the host allows to read.
//
// A search ends when its request is cancelled or its host ends. The process of ripgrep is killed and
// reaped before the search returns.
package search
