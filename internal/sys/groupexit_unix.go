//go:build unix

package sys

import "time"

// pause waits for limit, or until quit is closed.
func pause(limit time.Duration, quit <-chan struct{}) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-quit:
	}
}
