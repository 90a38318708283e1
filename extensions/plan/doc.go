// Package plan specifies a host with extensions: plain data, which package service
// carries out.
//
// # What it never does
//
// It reads nothing and starts nothing; its functions are pure and safe for
// concurrent use.
package plan
