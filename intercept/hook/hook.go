// Package hook runs a command before each process of a host, and after the end of each.
package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/internal/hostcommand"
	"github.com/hostsup/hostsup/internal/signame"
	"github.com/hostsup/hostsup/lifecycle"
)

// DefaultTimeout is that of a hook whose Timeout is 0.
const DefaultTimeout = time.Minute

// PreStart is a command that runs before the process of each life is started, as that
// process runs: as the same user, with its environment and HOSTSUP_LIFE, in its folder, and
// in a sandbox of its own under the same policy. If it fails, the start has failed. A stop
// of the host ends it. It does not run for a process that is taken back from an earlier supervisor. It is a feature
// of a host, see supervisor.Feature.
type PreStart struct {
	Command []string      // a program and its arguments
	Timeout time.Duration // then it is killed with its process tree, and has failed; default 1 min
}

// PostStop is a command that runs once after each life, when nothing is left of its process
// tree and before the next life begins, as [PreStart] does. It also runs when the process
// could not be started. The host is stopped when it has ended. HOSTSUP_LIFE,
// HOSTSUP_REASON, and HOSTSUP_EXIT_CODE or HOSTSUP_EXIT_SIGNAL say how the life has ended.
// A failure is a remark in the log of the host.
type PostStop struct {
	Command []string
	Timeout time.Duration // then it is killed with its process tree; default 1 min
}

// Setting implements supervisor.Feature.
func (PreStart) Setting() string { return "pre_start" }

// Setting implements supervisor.Feature.
func (PostStop) Setting() string { return "post_stop" }

// Validate returns what is wrong with the hook.
func (p PreStart) Validate(codec.Protocol) error { return validate(p.Command, p.Timeout) }

// Validate returns what is wrong with the hook.
func (p PostStop) Validate(codec.Protocol) error { return validate(p.Command, p.Timeout) }

func validate(command []string, timeout time.Duration) error {
	switch {
	case len(command) == 0 || command[0] == "":
		return errors.New("expected a program and its arguments")
	case timeout < 0:
		return fmt.Errorf("the timeout %s is negative", timeout)
	}
	return nil
}

// run runs a hook with what a life was given.
func run(ctx context.Context, host *actors.Ref, given *actors.Start, name string, command []string, timeout time.Duration, env map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(timeout, DefaultTimeout))
	defer cancel()
	env["HOSTSUP_LIFE"] = strconv.FormatUint(given.Life, 10)
	err := hostcommand.Run(ctx, host, given, hostcommand.Command{
		Name: name, Args: command, Env: env,
		Line: func(line []byte) { host.Print(given.Life, capture.Note, name+": "+string(line)) },
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Interceptor implements supervisor.Feature.
func (p PreStart) Interceptor(host *actors.Ref) *actors.Interceptor {
	var running sync.Mutex // held by the run of the present life
	return &actors.Interceptor{
		Name: "pre_start", Stage: actors.StageServe,
		Starting: func(ctx context.Context, s *actors.Start) error {
			if s.Resumed { // it ran before the process began
				return nil
			}
			running.Lock()
			defer running.Unlock()
			return run(ctx, host, s, "pre_start", p.Command, p.Timeout, map[string]string{})
		},
		Gone: func(actors.LifeEnd) { // a stop does not wait for Starting
			running.Lock()
			defer running.Unlock()
		},
	}
}

// Interceptor implements supervisor.Feature.
func (p PostStop) Interceptor(host *actors.Ref) *actors.Interceptor {
	var mu sync.Mutex
	var given *actors.Start // what the present life was given; nil: there is none
	return &actors.Interceptor{
		// Before pre_start, so that it follows one that has failed, and behind the secrets.
		Name: "post_stop", Stage: actors.StageOwn,
		Starting: func(_ context.Context, s *actors.Start) error {
			mu.Lock()
			defer mu.Unlock()
			own := *s // others add to s, and may do so for some time after a stop
			own.Env = maps.Clone(s.Env)
			given = &own
			return nil
		},
		Gone: func(e actors.LifeEnd) {
			mu.Lock()
			s := given
			given = nil
			mu.Unlock()
			if s == nil || s.Life != e.Life {
				return
			}
			if err := run(context.Background(), host, s, "post_stop", p.Command, p.Timeout, environ(e)); err != nil {
				host.Print(s.Life, capture.Note, err.Error())
				host.Log().Warn("a hook has failed", "life", s.Life, "error", err)
			}
		},
	}
}

// environ says how a life has ended.
func environ(e actors.LifeEnd) map[string]string {
	env := map[string]string{"HOSTSUP_REASON": e.Reason}
	switch {
	case e.Status.Signal != 0:
		env["HOSTSUP_EXIT_SIGNAL"] = signame.Of(e.Status.Signal)
	case e.Cause == lifecycle.CauseExit:
		env["HOSTSUP_EXIT_CODE"] = strconv.Itoa(e.Status.Code)
	}
	return env
}
