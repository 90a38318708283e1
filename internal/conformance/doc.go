// Package conformance tells whether a host keeps the rules of docs/protocol.md. It has one
// table of rules; [Run] plays each of them against a fresh process of the host, and the list
// of rules in docs/protocol.md is made from the same table.
//
// A rule that is played is passed, broken, advised (the page allows the host not to keep it,
// and the host does not), skipped (the host does not have the capability or the method that
// it takes), or undecided (another rule was broken on the way, which is reported under its
// own number).
//
// # Concurrency
//
// Rules are played one after the other. Each play has one goroutine that reads from the host
// and one that reads what the host prints; both have ended, and the processes of the host are
// gone, when the play is over.
//
// # What it never does
//
// It never prints. It leaves no process behind. It does not read the host's files.
package conformance
