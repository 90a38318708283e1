//go:build !hostsup_posix

package sandbox

const portable = false
