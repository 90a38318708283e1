//go:build unix && (!linux || hostsup_posix)

package sandbox

// portable is true in builds whose only kill method is the process group.
const portable = true
