package control

import (
	"context"
	"fmt"
	"path/filepath"
	"time"
)

// Upgrader has another process, of the same program or another version, take over from the supervisor. The
// program around the supervisor implements it.
type Upgrader interface {
	// Upgrade starts the program at path, or with "" that of the supervisor as it is on the disk now, and returns when its
	// process has taken over. Calls that are under way have as long as drain. If the error is
	// not nil, the supervisor goes on.
	Upgrade(ctx context.Context, path string, drain time.Duration) (*Upgraded, error)
}

// Upgraded is what an upgrade has done.
type Upgraded struct {
	From      string   `json:"from"` // version before
	To        string   `json:"to"`   // and now
	PID       int      `json:"pid"`  // of the process that has taken over
	Stayed    []string `json:"stayed"`
	Restarted []string `json:"restarted"` // hosts that were stopped, and started by the process that has taken over
	Removed   []string `json:"removed"`   // hosts that were added without the file, which end with the process before
	Cut       int      `json:"cut_off"`   // requests that were under way at the end of the drain
	// Pause is how long requests waited.
	Pause float64 `json:"pause_seconds"`
}

// upgradeInput is the input of a request for an upgrade.
type upgradeInput struct {
	Body upgradeRequest
}

// upgradeRequest names the program.
type upgradeRequest struct {
	Path  string  `json:"path,omitempty"`          // absolute, on the machine of the supervisor; "" is its own program
	Drain float64 `json:"drain_seconds,omitempty"` // 0: 5 s
}

// defaultDrain is how long calls under way may take.
const defaultDrain = 5 * time.Second

// maxDrain bounds what a caller may ask for: others wait meanwhile.
const maxDrain = 15 * time.Second

func (s *Server) upgrade(ctx context.Context, in upgradeInput) (*Upgraded, error) {
	drain := time.Duration(in.Body.Drain * float64(time.Second))
	switch {
	case s.opt.Upgrader == nil:
		return nil, &Error{Class: Unknown, Message: "this supervisor is part of another program, and cannot be replaced"}
	case callerOf(ctx).token != "" && in.Body.Path != "":
		return nil, &Error{Class: Forbidden, Message: "over a network only the supervisor's own program can be named, by no path"}
	case in.Body.Path != "" && !filepath.IsAbs(in.Body.Path):
		return nil, invalid(fmt.Sprintf("%q is not an absolute path", cut(in.Body.Path)))
	case drain < 0 || drain > maxDrain:
		return nil, invalid(fmt.Sprintf("drain_seconds is %v, expected up to %v", in.Body.Drain, maxDrain.Seconds()))
	case drain == 0:
		drain = defaultDrain
	}
	out, err := s.opt.Upgrader.Upgrade(ctx, in.Body.Path, drain)
	if err != nil {
		return nil, err
	}
	tidy := *out
	tidy.Stayed, tidy.Restarted, tidy.Removed = list(out.Stayed), list(out.Restarted), list(out.Removed)
	return &tidy, nil
}

// Upgrade has another process take over from the supervisor; see [Upgrader]. path must be absolute. A drain of 0 is 5 seconds, and
// the longest is 15 seconds.
func (c *Client) Upgrade(ctx context.Context, path string, drain time.Duration) (*Upgraded, error) {
	return post[Upgraded](ctx, c, prefix+"/upgrade", upgradeRequest{path, drain.Seconds()})
}
