// Package procnet examines the network as another process sees it. It is separate
// from package sys so that helper processes, which must start early, need not
// initialise the standard library's network.
package procnet
