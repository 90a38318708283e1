// Package text has the text of a document, as an editor of VS Code keeps it: lines with one line
// ending, positions in UTF-16 units, edits, versions, and undo. It is pure: it has no locks, no
// goroutines and no files.
//
// # Positions
//
// Lines and columns begin at 1. A column counts UTF-16 units, as VS Code does, so that a character
// outside the basic plane is two columns wide. A position outside the text is moved into it, and a
// range does not begin or end within such a character.
//
// # Concurrency
//
// A [Text] does not change: edits return another one. A [Model] must be guarded by its user.
package text
