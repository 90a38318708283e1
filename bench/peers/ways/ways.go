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
	Run      = "hostsup sandbox run" // the command, not the package

	// What sandbox run cannot be faster than.
	Version = "hostsup version"                     // the program, which does nothing
	First   = "package sandbox, its first start"    // in a program that has little else, and starts one command
	Nothing = "package sandbox, which does nothing" // the same program
)
