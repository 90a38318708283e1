//go:build !unix

package main

import (
	"time"

	"github.com/hostsup/hostsup/sandbox"
)

// passing does nothing on a system without signals.
type passing struct{}

func passed() *passing { return &passing{} }

func (*passing) await() {}

func (*passing) to(*sandbox.Child, time.Duration) {}

func (*passing) stop() string { return "" }
