package transport

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
)

// reserve is how many descriptors are kept, at most, for what must go on when
// the limit is near: control connections, logs, crash reports.
const reserve = 64

// checkReserve fails with EMFILE when the descriptors of a life, which were just
// opened, are among the last ones that the limit allows. The system gives out the
// lowest number that is free, so one above the others means that these are in use.
func (t *Transport) checkReserve() error {
	limit := sys.DescriptorLimit()
	keep := min(reserve, limit/4)
	for _, f := range t.own {
		if int(f.Fd()) >= limit-keep { //nolint:forbidigo // the child's end, which blocks
			return fmt.Errorf("the last %d are kept for control connections, logs and crash reports: %w", keep, syscall.EMFILE)
		}
	}
	return nil
}

// ShortOf returns what the error of a start means that this program or the machine is
// short of for the moment, "" if it means something else. A process with limits of its
// own may have met these instead.
func ShortOf(err error, limited bool) string {
	switch {
	case errors.Is(err, syscall.EMFILE):
		return fmt.Sprintf("the supervisor is short of descriptors (limit %d)", sys.DescriptorLimit())
	case errors.Is(err, syscall.ENFILE):
		return "the machine is short of descriptors"
	case limited:
	case errors.Is(err, syscall.ENOMEM):
		return "the machine is short of memory"
	case errors.Is(err, syscall.EAGAIN):
		return "the supervisor's user or cgroup is short of processes"
	}
	return ""
}
