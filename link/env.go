package link

import "time"

// Env is what a link takes from the system besides its [Wire]: the time, timers
// and goroutines. A simulation has one of its own. Its methods are safe for
// concurrent use.
type Env interface {
	// Now is a monotonic reading in nanoseconds, never 0.
	Now() int64
	// Time returns the time of day of a reading.
	Time(reading int64) time.Time
	// AfterFunc runs f on a goroutine of its own after d.
	AfterFunc(d time.Duration, f func()) Timer
	// Go runs f on a goroutine of its own.
	Go(f func())
}

// Timer is a *[time.Timer] made by AfterFunc, or what stands for one.
type Timer interface {
	Stop() bool
	Reset(d time.Duration) bool
}

// System is the [Env] of real clocks and goroutines.
type System struct{}

// base makes monotonic readings small and free of the time of day.
var base = time.Now()

// Now implements [Env].
func (System) Now() int64 { return int64(time.Since(base)) + 1 }

// Time implements [Env]. It follows the clock of the
// machine also when that is set.
func (System) Time(reading int64) time.Time {
	now := time.Now()
	return now.Add(time.Duration(reading-1) - now.Sub(base))
}

// AfterFunc implements [Env].
func (System) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }

// Go implements [Env].
func (System) Go(f func()) { go f() }
