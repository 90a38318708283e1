// Package policy says what a confined process may read, write, run, reach and
// use up: the data, its named profiles, how one policy adds to another, what is
// wrong with one, and what it comes to on this machine at this moment. It
// starts nothing and enforces nothing; package sandbox does.
//
// # What it promises
//
// A [Policy] is plain data and is never changed by this package. Everything
// that is wrong with one is found at once and told as [Error] values that name
// the field, the place in the file it came from and what would work. The file
// system is looked at in [Resolve] alone.
package policy
