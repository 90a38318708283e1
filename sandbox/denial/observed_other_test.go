//go:build !linux || hostsup_posix

package denial

const observedArg = "denial-observed"

func observed() {}

const landlockedArg = "denial-landlocked"

func landlocked() {}
