// Package evidence keeps crash reports with what happened before each crash, tells which crashes
// are alike, and keeps an index of them.
//
// A [Keeper] is passed to [supervisor.WithEvidence]. It watches the messages of every host for
// [Window], and adds an [Evidence] to each report: one timeline of messages, events and samples,
// and a [Likeness], which is the same for crashes of the same kind. The reports are JSON files, one
// each, of package internal/reports. The index is a file of lines with checksums beside them, from
// which reports are listed without reading the files. The files are the truth: what is missing or
// damaged in the index is read from them when the folder is opened, and so is every report if the
// index is damaged later.
//
// # What is not stored
//
// Values of secrets that hosts were given, the values of variables whose names tell that they are
// secret, and texts that have the form of a token or stand where a password or an Authorization
// header stands, are replaced by [redacted] before anything is stored; see [Scrub].
//
// # Concurrency
//
// All methods are safe for concurrent use. Watching a message takes a lock that only messages of its
// life in the same direction take, and copies up to 64 KiB. Adding a report does not wait for the
// disk.
package evidence
