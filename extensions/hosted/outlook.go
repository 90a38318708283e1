package hosted

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/extensions/activation"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// downError returns the error of a call with the host that could not be started for it, if that is the
// reason.
func downError(err error) error {
	var inactive *activation.Error
	if !errors.As(err, &inactive) {
		return err
	}
	if host, cause := inactive.DownHost(); host != "" {
		return &actors.HostError{Host: host, Err: err, Reason: cause}
	}
	return err
}

// outlookWait bounds the wait for what becomes of a host, in which its group may have a say.
const outlookWait = 5 * time.Second

// outlook returns, as sentences for an agent, what becomes of a host that a call has failed at.
func outlook(ctx context.Context, h *supervisor.Host, err *actors.HostError) string {
	const started = "The host is started again, and the tool can be called again."
	ctx, cancel := context.WithTimeout(ctx, outlookWait)
	defer cancel()
	// The call fails before the rules of the host are asked.
	if h.Life() == err.Life || h.State() == lifecycle.Crashed {
		_ = h.Wait(ctx, lifecycle.Restarting, lifecycle.Starting, lifecycle.Failed, lifecycle.Stopped)
	}
	start := fmt.Sprintf("A person can start it (hostsup start %[1]s) and read why it ended (hostsup crashes %[1]s); the tool can be called again then.", h.Name())
	switch state := h.State(); {
	case state == lifecycle.Failed && h.Spec().Restart.RetryFailed > 0:
		return fmt.Sprintf("The host has failed and is tried again by itself after %v. %s", h.Spec().Restart.RetryFailed, start)
	case state == lifecycle.Failed:
		return "The host has failed and is not started again by itself. " + start
	case state == lifecycle.Stopped, state == lifecycle.Stopping:
		return "The host is stopped. " + start
	case state == lifecycle.Crashed, state.Up() && h.Life() == err.Life:
		return "Whether the host is started again is not known yet. " + start
	}
	return started
}
