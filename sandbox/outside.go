package sandbox

import (
	"os"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// Outside is a Child that is not a child of this process: another process started it, and
// tells its creator how it ends. A Launcher does not know it, and does not end it in Close.
type Outside struct {
	*Child
	access Access
}

// Access is how the process of an Outside is reached.
type Access struct {
	PID     int
	Started time.Time             // when the process was started
	Signal  func(os.Signal) error // signals the process; [os.ErrProcessDone] if it has ended
	Kill    func() error          // kills the tree; it may be called again, also after the end of the process
	Reaper  int                   // the process outside of the tree whose descendants the tree is
}

// NewOutside returns an Outside for a command that runs, or has run.
func NewOutside(cmd *Command, a Access) *Outside {
	o := &Outside{Child: newChild(cmd, a.Started), access: a}
	o.pid, o.tree = a.PID, outsideTree{o}
	return o
}

// End tells that the process has ended. It must be called once.
func (o *Outside) End(e Exit) { o.end(e) }

// Vanish tells that the tree has ended. It must be called after End, and may be called again.
func (o *Outside) Vanish() { o.vanish() }

// Released returns a channel that is closed by Release.
func (o *Outside) Released() <-chan struct{} { return o.released }

// outsideTree is the tree of an Outside.
type outsideTree struct{ o *Outside }

func (t outsideTree) signal(sig os.Signal) error  { return t.o.access.Signal(sig) }
func (t outsideTree) kill() error                 { return t.o.access.Kill() }
func (t outsideTree) account() (int, string, int) { return -1, "", t.o.access.Reaper }

func (t outsideTree) pids() ([]int, error) {
	select {
	case <-t.o.gone:
		return nil, os.ErrProcessDone
	default:
		return sys.Descendants(t.o.access.Reaper)
	}
}
