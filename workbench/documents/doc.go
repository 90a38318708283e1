// Package documents has the text documents of a workbench, its editors and tabs without a window, and
// what extensions do with them: open, show, edit, save, rename and undo.
//
// # One set of documents
//
// All hosts of a workbench have the same documents. A host that is up gets each document and each
// change in order, and a new life gets all that is there before its first call, so that documents
// are lost neither with a life nor with a move. A confined host gets only what its sandbox lets it
// read.
//
// # What keeps a document open
//
// A document stays open while it is in a tab, has changes that are not saved, or is held by a
// [Document] of the program. Others, which extensions opened, stay open until there are more
// than 50 or they have more than 80 MiB together, as in VS Code; the ones that were opened longest ago
// are closed first. No document is closed because of its age.
//
// # Editors
//
// There are groups of tabs, beside each other. The active tab of a group has an editor, with
// selections and options. No editor has visible ranges.
//
// # Undo
//
// A document has steps of undo. A workspace edit is one step in all of its documents, and with its
// file operations it is undone as a whole or not at all; see [Document.Undo]. What was removed is kept
// in memory: at most 16 MiB of one edit, and 64 MiB of the last 100 edits.
//
// # Concurrency
//
// All methods are safe for concurrent use. No file is read or written and no host is waited for while
// the documents are locked.
package documents
