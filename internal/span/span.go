// Package span formats durations as people write them.
package span

import (
	"strings"
	"time"
)

// Of returns d without its parts that are zero: "5m", not "5m0s".
func Of(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
