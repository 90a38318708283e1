//go:build unix

package sandbox

import (
	"errors"
	"runtime"

	"github.com/hostsup/hostsup/internal/sys"
)

// spawner is the thread that spawns all children. The kernel sends a parent-death
// signal when the thread that forked ends, not its process, so that this thread must
// live as long as any child.
type spawner struct {
	prepare  func() error // changes the thread permanently before the first spawn; may be nil
	requests chan *spawn
	quit     chan struct{}
	ended    chan struct{}
}

type spawn struct {
	sys.Process
	by         func() (pid, pidfd int, err error) // if not nil, spawns instead of Process
	pid, pidfd int
	err        error
	done       chan struct{}
}

var errSpawnerEnded = errors.New("the spawning thread has ended")

func newSpawner(prepare func() error) *spawner {
	s := &spawner{prepare: prepare, requests: make(chan *spawn), quit: make(chan struct{}), ended: make(chan struct{})}
	go s.run()
	return s
}

func (s *spawner) run() {
	defer close(s.ended)
	runtime.LockOSThread()
	var unfit error
	if s.prepare != nil {
		unfit = s.prepare() // the thread ends with this goroutine
	} else {
		// Unlocked at the end, so that the thread returns to the runtime instead of
		// ending, which would signal children that are left.
		defer runtime.UnlockOSThread()
	}
	for {
		select {
		case r := <-s.requests:
			if r.by == nil {
				r.by = r.Start
			}
			if r.pid, r.pidfd, r.err = 0, -1, unfit; unfit == nil {
				r.pid, r.pidfd, r.err = r.by()
			}
			close(r.done)
			if unfit != nil {
				return
			}
		case <-s.quit:
			return
		}
	}
}

// start starts p on the thread.
func (s *spawner) start(p sys.Process) (pid, pidfd int, err error) {
	return s.do(&spawn{Process: p})
}

func (s *spawner) do(r *spawn) (pid, pidfd int, err error) {
	r.done = make(chan struct{})
	select {
	case s.requests <- r:
		<-r.done
		return r.pid, r.pidfd, r.err
	case <-s.ended:
		return 0, -1, errSpawnerEnded
	}
}

// hasEnded reports whether prepare failed. The start that needed the thread then got
// the error.
func (s *spawner) hasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

func (s *spawner) stop() {
	close(s.quit)
	<-s.ended
}
