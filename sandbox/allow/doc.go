// Package allow parses and matches allow lists, which say what a confined process
// may connect to, and classifies addresses. It opens no connection and resolves no
// name; package netproxy does.
//
// A parsed list is never changed and is safe for concurrent use.
package allow
