// Package reports keeps crash reports: on disk, one JSON file each, or in
// memory alone.
//
// The store knows of a report its id, its time and its host, to find it and to
// say which ones are kept; what else is in it is the caller's type. Reports
// that are on disk are read from there when they are asked for, so that a
// store holds little memory.
//
// # Order and concurrency
//
// All methods are safe for concurrent use. [Store.Add] never waits for the
// disk: the report can be listed and fetched at once, and a goroutine of the
// store, which lives only while there is something to do, writes the files in
// order. [Store.Flush] and [Store.Close] wait for it. A file is written under
// another name, fsynced and renamed: it is there whole or not at all. A report
// that could not be written stays in memory and is tried again with the next
// Add, Flush or Close. Reports are listed by their time, oldest first, those
// of the same time by their id.
//
// # What is kept
//
// The newest [Options.Keep] reports of all, and in any case the newest
// [Options.PerHost] of every host: one that crashes all the time does not push
// out the only report of another. This bounds the reports that wait to be
// written, too.
//
// A report that is dated more than a minute after the present, by a clock that
// was wrong, counts as the oldest: it is listed first and pushes out no report
// that is added after it.
//
// # Files
//
// ID.json with mode 0600 in a folder with mode 0700:
//
//	{"format": 1, "id": …, "time": …, "host": …, "report": …}
//
// Files that are not like this are left alone, told once to
// [Options.OnError], and otherwise treated as if they were not there. An id
// never becomes a path outside of the folder: only ids of a fixed alphabet are
// added, and others are never looked for on the disk.
//
// One store at a time may own a folder.
package reports
