// Package record is what is kept and shown of hosts: the status, the events with the
// [Journal] that numbers them, the crash reports, and the seam for what takes secrets out
// of all of them. It is data with its JSON, which scripts read; whatever decides or does
// something has its place elsewhere. What a feature adds to the status or to the history of
// hosts is a field or a Kind of event here.
package record
