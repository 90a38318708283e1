//go:build !hostsup_posix

package sandbox

import "github.com/hostsup/hostsup/internal/sys"

func enterDelegated() error { return sys.EnterSubgroup() }
