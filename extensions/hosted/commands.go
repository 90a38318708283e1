package hosted

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/status"
)

// methodCommand executes a command in the host of its extension, which is activated first.
const methodCommand = "ExtHostCommands.$executeContributedCommand"

// commandRun is a command that a client executes. Extensions do not say for which command they show a
// progress: what the extension of the command begins meanwhile counts as that of the command.
type commandRun struct {
	extension string // its id; "" if it is not known
	began     time.Time

	// The mutex of the runs guards the rest.
	ended  time.Time     // zero: it runs
	others []*commandRun // of the extension, which ran at the same time
	crowd  bool          // there were more than are kept
}

// maxOthers is how many commands that run at the same time as another one are told apart.
const maxOthers = 1000

// commandRuns are the commands that clients execute. The zero value has none.
type commandRuns struct {
	mu      sync.Mutex
	running map[*commandRun]bool
}

func (r *commandRuns) begin(extension string) *commandRun {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := &commandRun{extension: extension, began: time.Now()}
	for other := range r.running {
		if strings.EqualFold(other.extension, extension) {
			own.note(other)
			other.note(own)
		}
	}
	if r.running == nil {
		r.running = map[*commandRun]bool{}
	}
	r.running[own] = true
	return own
}

func (own *commandRun) note(other *commandRun) {
	if own.crowd = own.crowd || len(own.others) >= maxOthers; !own.crowd {
		own.others = append(own.others, other)
	}
}

func (r *commandRuns) end(own *commandRun) {
	r.mu.Lock()
	defer r.mu.Unlock()
	own.ended, own.others = time.Now(), nil
	delete(r.running, own)
}

// isOnly reports whether a progress is that of this command: its extension is known, and it executed no other
// command when the progress began.
func (r *commandRuns) isOnly(own *commandRun, p status.Progress) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if own.extension == "" || own.crowd || !own.has(p) {
		return false
	}
	for _, o := range own.others {
		if !o.began.After(p.Started) && (o.ended.IsZero() || !o.ended.Before(p.Started)) {
			return false
		}
	}
	return true
}

// has reports whether a progress may be that of the command. The start of a host is waited for as well.
func (own *commandRun) has(p status.Progress) bool {
	if p.Started.Before(own.began) {
		return false
	}
	return own.extension == "" || p.Extension == "" || strings.EqualFold(p.Extension, own.extension)
}

// execute executes a command of an extension for a client, and returns its result as JSON. report is called
// with the progress of the command until execute returns. Commands of VS Code cannot be canceled: if the
// client gives up or the time is over, the progress of the command is canceled, as a user does it, where the
// extension lets one.
func (e *editor) execute(ctx context.Context, h *supervisor.Host, extension, id string, args []any, report func(status.Update)) (out json.RawMessage, err error) {
	shown := workbench.Find[*status.Service](e.bench)
	own := e.commands.begin(extension)
	defer e.commands.end(own)
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	work.Go(func() {
		shown.Follow(following, 0, func(u status.Update) {
			if own.has(u.Progress) {
				report(u)
			}
		})
	})
	err = h.Call(ctx, methodCommand, workbench.Params(append([]any{id}, args...)...), &out)
	if ctx.Err() != nil || errors.Is(err, actors.ErrTimeout) {
		for _, p := range shown.Running("") {
			if p.Cancelable && e.commands.isOnly(own, p) {
				_ = shown.Cancel(p.ID) // it may have ended
			}
		}
	}
	return out, err
}
