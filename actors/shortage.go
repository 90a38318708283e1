package actors

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// unmade says what it means that a life could not be started; no error means
// nothing. What this program or the machine is short of for the moment is not the
// host's fault.
func (a *Life) unmade(err error) lifecycle.Fault {
	if err == nil {
		return lifecycle.Fault{}
	}
	f := lifecycle.Fault{Cause: lifecycle.CauseSpawn, Detail: err.Error()}
	if errors.Is(err, policy.ErrUntrusted) {
		f.Cause = lifecycle.CauseRefused
		return f
	}
	if lacks := shortOf(err, a.ref.spec.Resources); lacks != "" {
		f.Cause, f.Detail = lifecycle.CauseShortage, lacks+": "+f.Detail
	}
	return f
}

// shortOf says what an error of a start tells this program or the machine to
// be short of, "" when it tells nothing of that kind. A host with limits of its
// own may have met these instead.
func shortOf(err error, limits policy.Limits) string {
	switch {
	case errors.Is(err, syscall.EMFILE):
		return fmt.Sprintf("the supervisor is short of descriptors (limit %d)", sys.DescriptorLimit())
	case errors.Is(err, syscall.ENFILE):
		return "the machine is short of descriptors"
	case limits != (policy.Limits{}):
	case errors.Is(err, syscall.ENOMEM):
		return "the machine is short of memory"
	case errors.Is(err, syscall.EAGAIN):
		return "the supervisor's user or cgroup is short of processes"
	}
	return ""
}

// reserve is how many descriptors are kept, at most, for what must go on when
// the limit is near: control connections, logs, crash reports.
const reserve = 64

// checkReserve fails with EMFILE when the descriptors of a life, which were just
// opened, are among the last ones that the limit allows. The system gives out the
// lowest number that is free, so one above the others means that these are in use.
func (t *transport) checkReserve() error {
	limit := sys.DescriptorLimit()
	keep := min(reserve, limit/4)
	for _, f := range t.childs {
		if int(f.Fd()) >= limit-keep { //nolint:forbidigo // the child's end, which blocks
			return fmt.Errorf("the last %d are kept for control connections, logs and crash reports: %w", keep, syscall.EMFILE)
		}
	}
	return nil
}
