// Package simulation runs the whole tree of a supervisor on a machine that exists in memory alone: its
// clock, its processes and the connections to them. One seed decides the order in which actors,
// goroutines and timers go on, how long each waits, how streams are cut into reads, and which of the
// machine's services fail. What happens is compared with what is promised, by a checker that knows
// nothing of the tree's code.
//
//	go test ./simulation -seeds 10000
//
// A story is a text: the hosts with their rules, and what is done when. A seed makes one, and a file of
// testdata/stories holds one that once failed. A story that fails is shortened before it is printed.
package simulation
