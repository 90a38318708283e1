//go:build !unix

package main

import (
	"context"
	"io"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox"
)

// inProcess is not supported on this system, where attach does not use it.
type inProcess struct {
	run func(ctx context.Context, in io.Reader, out io.Writer) error
}

// Kill implements actors.Launcher.
func (inProcess) Kill() sandbox.Kill { return sandbox.KillGroup }

// Start implements actors.Launcher.
func (inProcess) Start(*sandbox.Command) (*sandbox.Child, error) { return nil, sys.ErrUnsupported }
