// Package plan says what a host with extensions is to have: plain data, of which
// package service makes something.
//
// # What it never does
//
// It reads nothing and starts nothing; its functions are functions of their
// arguments and safe for concurrent use.
package plan
