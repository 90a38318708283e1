// Package reports keeps crash reports: on disk, one JSON file each, or in memory only.
//
// The store knows the id, the time and the host of a report, to find it and to decide
// which reports to keep; the rest has the caller's type. Reports on disk are read
// when they are requested, so that a store holds little memory.
//
// # Order and concurrency
//
// All methods are safe for concurrent use. [Store.Add] never waits for the disk: the
// report can be listed and fetched at once, and a goroutine of the store, which runs
// only while there is something to do, writes the files in order. [Store.Flush] and
// [Store.Close] wait for it. A file is written under another name, fsynced and
// renamed: it is whole or does not exist. A report that could not be written stays in
// memory and is tried again with the next Add, Flush or Close. Reports are listed by
// time, oldest first, and then by id.
//
// # What is kept
//
// The newest [Options.Keep] reports of all hosts, and always the newest
// [Options.PerHost] of every host: a host that crashes all the time does not push out
// the only report of another. This also bounds the reports that wait to be written.
//
// A report dated more than a minute after the present, by a wrong clock, counts as the
// oldest: it is listed first and pushes out no report that is added after it.
//
// [Options.MaxAge] and [Options.MaxSize] remove more: what is older, also of the newest of a host,
// and the oldest until the files have fewer bytes, apart from the newest file.
//
// # Files
//
// ID.json with mode 0600 in a folder with mode 0700:
//
//	{"format": 1, "id": …, "time": …, "host": …, "report": …}
//
// Other files are left alone, reported once to [Options.OnError], and otherwise
// ignored. An id never becomes a path outside of the folder: only ids of a fixed
// alphabet are added, and others are never looked up on disk.
//
// Without an [Index] Open reads every file. With one it reads those that the index does not know, or
// that were changed since.
//
// Only one store at a time may own a folder.
package reports
