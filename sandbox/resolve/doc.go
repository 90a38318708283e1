// Package resolve applies a policy to this machine at this moment. It follows
// links, expands patterns, and orders grants and denials so that the caller can
// enforce them without further decisions. Callers must resolve right before each
// start.
//
// The package reads the file system and changes nothing. All functions may be
// called concurrently. A [Resolver] keeps state about the policies of one
// supervisor; there is no other state.
//
// It never guesses: a missing path is an error, unless the policy has a dash before
// the path. It does not check what the kernel can enforce; the Launcher does.
package resolve
