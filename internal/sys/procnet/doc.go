// Package procnet looks at the network as another process sees it. It is apart
// from package sys because helper processes, which have to begin early, wait for
// nothing of the standard library's network.
package procnet
