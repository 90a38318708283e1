// Package jsonwalk reads JSON where it lies: it checks a text once, and then
// hands out members and elements as slices of it, without building a tree.
//
// # Promises
//
// [Scanner] checks JSON against bounds, for codecs, and [Check] is made of it.
// [Check] accepts exactly what RFC 8259 allows, to a depth of [MaxDepth], and
// never panics. [Object], [Array], [Find], [Visit], [Skip] and [SkipText] are for texts
// that Check has accepted; given another they stop early, and do not panic
// either. Names are compared exactly, not without regard to case as
// encoding/json does. Nothing is kept and nothing is changed; all functions are
// safe for concurrent use, and a Scanner is for one goroutine.
//
// # What it never does
//
// It does not decide about duplicate names (the caller sees each of them), and
// it does not look at what is in a string beyond its escapes.
package jsonwalk
