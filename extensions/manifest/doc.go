// Package manifest finds extensions in folders and reads their package.json.
//
// [Scan] reads folders, [Parse] reads one manifest. Both return extensions.Extension
// values with the description that a host expects, and problems as values with the
// file, the key and the expected content.
//
// # What is accepted
//
// The package accepts what VS Code accepts: JSON with a byte order mark, unknown
// fields (which the host gets unchanged), no publisher, one kind instead of a list,
// broken contributions (their valid parts count). It refuses what VS Code refuses:
// comments, a missing name, version or engines.vscode, an incompatible engine,
// activation events that are not strings. In addition it refuses a manifest that is
// larger than [Options].MaxSize or nested deeper than 500 levels, and drops fields
// that only the editor may set (identifier, extensionLocation, …) with a warning.
//
// # Order and concurrency
//
// Scan reads in parallel and ends all of its goroutines; its result does not depend
// on their order. Extensions come in the order builtin, installed, under
// development, and by the name of the folder within each. All functions are safe for
// concurrent use and have no state.
//
// # What it never does
//
// It runs and resolves nothing, follows no path in a manifest, and opens only regular
// files named package.json, package.nls*.json, .obsolete, and the list of package index. It
// does not panic,
// whatever it reads.
package manifest
