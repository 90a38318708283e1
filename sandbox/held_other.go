//go:build !linux || hostsup_posix

package sandbox

import "github.com/hostsup/hostsup/sandbox/policy"

// heldParts is empty in builds that neither confine nor limit.
type heldParts struct{}

func (*held) judge(*Exit) {}

func (*held) free() {}

func (*held) account() (int, string) { return -1, "" }

func (*held) bound(policy.Limits, bool) error { return ErrLimitsFixed }
