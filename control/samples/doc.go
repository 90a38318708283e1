// Package samples keeps an hour of figures of each host of a tree: its state, restarts,
// calls, response times, and the memory and processor time of its processes.
//
// A [Store] is a pure value: readings and the time go in, series come out. [Run] is the
// one goroutine that fills it from a tree; whoever starts it owns it and ends it by its
// context. Memory is bounded: 40 bytes for each sample of a host, [Kept] samples of each,
// and nothing of hosts that were removed.
package samples
