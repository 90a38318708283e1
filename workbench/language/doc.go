// Package language answers questions about documents, such as what is defined at a position, with the
// providers that extensions have registered: those of all hosts of a workbench, merged as VS Code
// merges them.
//
// # Providers
//
// A provider belongs to the life of the host that has registered it, and is dropped with that life. The
// next life, or the host to which the extension has moved, registers it again. For a document, the
// providers are ordered by how well their selectors fit, then by the time of their registration, the
// latest first; providers of extensions that ship with VS Code come after others that fit as well.
//
// # Questions
//
// A document is opened for a question if it is not open, and the extensions that declare its language
// are activated first. A question whose life ends in the middle is asked again once, when its providers
// are registered again. All questions only read: nothing that an extension returns is applied.
//
// # Positions
//
// The Go types of this package count lines and characters from 0, as extensions do. Characters are UTF-16
// units. The messages of hosts count from 1; that difference does not show outside the package.
package language
