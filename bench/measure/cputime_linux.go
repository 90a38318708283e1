package measure

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Clock adds up the processor time of a set of processes.
type Clock []int

// ClockOfTree returns the clock of the caller and the processes below it as they are
// now.
func ClockOfTree() (Clock, error) {
	self := os.Getpid()
	below, err := Descendants(self)
	if err != nil {
		return nil, err
	}
	c := Clock{self}
	for _, p := range below {
		c = append(c, p.PID)
	}
	return c, nil
}

// Read returns what the processes have used of the processors so far, user and system,
// to the nanosecond. It is the time that getrusage(2) reports, which does so for other
// processes only after they have ended. A process that has ended is an error here.
func (c Clock) Read() (time.Duration, error) {
	var sum time.Duration
	for _, pid := range c {
		var t unix.Timespec
		// clock_getcpuclockid(3): the clock of a whole process, CPUCLOCK_SCHED.
		if err := unix.ClockGettime(int32(^pid<<3|2), &t); err != nil {
			return 0, fmt.Errorf("processor time of process %d: %w", pid, err)
		}
		sum += time.Duration(t.Nano())
	}
	return sum, nil
}
