//go:build unix && !darwin

package sys

import "time"

// AwaitMemberExit returns after limit, or when quit is closed: this system reports no ends
// of processes that are not children of this one.
func AwaitMemberExit(_ int, limit time.Duration, quit <-chan struct{}) { pause(limit, quit) }
