// Package editors writes the editor's or agent's side of hosts: what makes it run
// "hostsup attach HOST" instead of a server.
//
// [Show] returns the text to add, and [Patch] returns a file with it. Both are pure.
// Patch changes as little text as it can: comments, order and indentation stay. What it
// cannot change without a loss it refuses with [ErrUnsafe].
package editors
