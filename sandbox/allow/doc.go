// Package allow says what a confined process may connect to: the entries of an
// allow list, what they match, and what an address is. It opens and resolves
// nothing; package netproxy does.
//
// A list that was parsed is never changed, and safe for concurrent use.
package allow
