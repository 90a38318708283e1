// Package workspace answers whether a workspace contains what an extension's
// workspaceContains events name: plain names by looking whether they exist,
// patterns by a search that has an end.
//
// All functions are safe for concurrent use and keep nothing. [Contains] sees
// the workspace through a [Finder] only; [Dir] is the one for folders of this
// machine. Links to folders are not followed by a search, and nothing is
// opened.
package workspace
