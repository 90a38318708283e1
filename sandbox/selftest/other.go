//go:build !linux || hostsup_posix

package selftest

import "context"

func run(context.Context, Options, string) (*Report, error) { return nil, ErrUnsupported }
