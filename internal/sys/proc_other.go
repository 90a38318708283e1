//go:build !linux

package sys

import "time"

// ProcStat is not supported on this system.
func ProcStat(pid int) (rss int64, cpu time.Duration, err error) { return 0, 0, ErrUnsupported }

// ReadStat is not supported on this system.
func ReadStat(pid int) (Stat, error) { return Stat{}, ErrUnsupported }

// Children is not supported on this system.
func Children(pid int) ([]int, error) { return nil, ErrUnsupported }

// Descendants is not supported on this system.
func Descendants(pid int) ([]int, error) { return nil, ErrUnsupported }

// CgroupCPU is not supported on this system.
func CgroupCPU(dir int, name string) (time.Duration, error) { return 0, ErrUnsupported }

// CgroupMemory is not supported on this system.
func CgroupMemory(dir int, name string) (int64, error) { return 0, ErrUnsupported }
