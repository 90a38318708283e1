// Package manifest finds extensions in folders and reads their package.json.
//
// [Scan] reads folders, [Parse] one manifest; both give extensions.Extension
// values with the description that a host wants, and what is wrong as values
// that name the file, the key and what was expected.
//
// # What is accepted
//
// What VS Code accepts: JSON with a byte order mark, unknown fields (which the
// host gets as they are), no publisher, one kind instead of a list, broken
// contributions (what is whole of them counts). What it refuses is refused too:
// comments, a missing name, version or engines.vscode, an engine that does not
// fit, activation events that are no strings. Beyond that, a manifest is refused
// when it is larger than [Options].MaxSize or nested deeper than 500 levels, and
// fields that only the editor may set (identifier, extensionLocation, …) are
// left out with a warning.
//
// # Order and concurrency
//
// Scan reads in parallel and ends with all of its goroutines; its result does
// not depend on which of them was faster. Extensions come builtin first, then
// installed ones, then those under development, each by the name of the folder.
// All functions are safe for concurrent use; nothing is kept between calls.
//
// # What it never does
//
// It does not run or resolve anything, follows no path out of a manifest, opens
// nothing but package.json, package.nls*.json and .obsolete, and of these only
// regular files. It does not panic, whatever it reads.
package manifest
