// Package jsonwalk reads JSON without building a tree: it checks a text once, and
// then returns members and elements as slices of that text.
//
// # Promises
//
// [Scanner] checks JSON against bounds, for codecs, and [Check] is made of it.
// [Check] accepts exactly what RFC 8259 allows, to a depth of [MaxDepth], and
// never panics. [Object], [Array], [Find], [Visit], [Skip] and [SkipText] are for texts
// that Check has accepted; given another they stop early, and do not panic
// either. Names are compared exactly; encoding/json ignores case. No function
// keeps or changes its input. All functions are safe for concurrent use; a Scanner
// must be used by one goroutine.
//
// # What it never does
//
// It does not decide about duplicate names (the caller sees each of them), and
// it does not interpret strings beyond their escapes.
package jsonwalk
