package attach

import (
	"context"
	"errors"
	"fmt"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/lifecycle"
)

// raise starts the host where it does not run, and starts another life of it if
// anew, and waits until it runs or has given up. It does not start a host that a
// person stopped, nor one that was given up.
func (h *Hub) raise(ctx context.Context, anew bool) error {
	var err error
	if h.refused(nil) != nil { // it was given up for that
		err = h.host.Start(ctx)
	} else {
		err = h.host.Raise(ctx)
	}
	if err == nil && anew {
		err = h.host.Restart(ctx)
	}
	if err != nil {
		var state *actors.StateError
		if !errors.As(err, &state) || state.State != lifecycle.Crashed && state.State != lifecycle.Restarting {
			return err
		}
		// It is tried again, as often as its rules allow.
		if err := h.host.Wait(ctx, lifecycle.Running, lifecycle.Failed, lifecycle.Stopped); err != nil {
			return err
		}
	}
	return nil
}

// refused returns how the supervisor behind a relayed host has answered its opening, err if it
// has not refused it.
func (h *Hub) refused(err error) error {
	if h.relayed != nil {
		if refusal := h.relayed(); refusal != nil {
			return refusal
		}
	}
	return err
}

// absent says why there is no life to speak to.
func (h *Hub) absent() error {
	st := h.host.Status()
	reason := ""
	if st.Reason != nil {
		reason = ": " + *st.Reason
	}
	return fmt.Errorf("host %q is %s%s", h.host.Name(), st.State, reason)
}
