//go:build !unix

package main

import (
	"time"

	"github.com/hostsup/hostsup/sandbox"
)

// passing has nothing to do where there are no signals.
type passing struct{}

func passed() *passing { return &passing{} }

func (*passing) await() {}

func (*passing) to(*sandbox.Child, time.Duration) {}

func (*passing) stop() string { return "" }
