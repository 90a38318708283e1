//go:build !linux || hostsup_posix

package denial

const observedArg = "denial-observed"

func observed() {}
