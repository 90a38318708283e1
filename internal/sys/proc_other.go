//go:build !linux

package sys

import "time"

// ProcStat is the memory and the processor time of process pid.
func ProcStat(pid int) (rss int64, cpu time.Duration, err error) { return 0, 0, ErrUnsupported }

// ReadStat reads what the system knows about process pid.
func ReadStat(pid int) (Stat, error) { return Stat{}, ErrUnsupported }

// Children lists the children of process pid.
func Children(pid int) ([]int, error) { return nil, ErrUnsupported }

// Descendants lists the children of pid, their children, and so on.
func Descendants(pid int) ([]int, error) { return nil, ErrUnsupported }
