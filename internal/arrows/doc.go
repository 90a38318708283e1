// Package arrows has no code. Its test compares the imports of this module with
// the arrows that docs/architecture.md draws.
package arrows
