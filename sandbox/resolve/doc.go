// Package resolve says what a policy comes to on this machine at this moment: it
// follows links, finds what patterns match, and lays out grants and denials so
// that whoever enforces them has no more to decide. What is enforced must be what
// was resolved right before the start.
//
// It reads the file system and changes nothing. All functions may be called
// concurrently. A [Resolver] keeps what it knows of the policies of one
// supervisor; nothing else keeps state.
//
// It never guesses: a path that is missing is an error, unless the policy itself
// says that it may be missing (a dash in front of the path). It never asks what
// the kernel can enforce; that is the Launcher's part.
package resolve
