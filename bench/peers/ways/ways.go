// Package ways names the ways in which a process is started when confinement is
// measured.
package ways

// Figures are nanoseconds of single starts, by the way.
type Figures map[string][]float64

// The ways.
const (
	Plain    = "hostsup, unconfined"
	Landlock = "hostsup, level landlock"
	Full     = "hostsup, level full"
	Bwrap    = "bwrap"
)
