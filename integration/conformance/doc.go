// Package conformance plays the same scenarios against two exec servers and
// says where they answer differently. One is the program whose protocol it is,
// the other is ours.
//
// A scenario is a few lines of a [Script]: requests, commands of a shell that
// prepare or look at the scenario's folder, and what to wait for. Playing it
// makes a [Record]: what came back, step by step, without what differs at every
// run (ids that the server chooses, ports, paths of the scenario's folder,
// times). [Compare] compares two records member by member, and [Expected] is
// the list of differences that are meant to be, each with its reason.
//
// # Promises about order
//
//   - Notifications of one process are taken in the order of their seq, and
//     its output is joined by stream: how it is cut into chunks is not compared.
//   - Everything else is literal: codes, texts, members that are there, null or
//     missing.
//   - Nothing waits for a time to pass: a step ends when what it waits for has
//     come, and fails when that takes longer than [Patience].
//
// It never judges which of two answers is the better one.
package conformance
