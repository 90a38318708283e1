// Package filewatch makes watchers of github.com/fsnotify/fsnotify usable by one goroutine that both
// takes what they tell and changes what they watch.
package filewatch

import (
	"errors"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// Watcher is a watcher of the library. Failed has its errors, and Errors is not to be read: the
// library (1.10.1, Linux) sends an error while it holds the lock that Add and Remove take, so that a
// goroutine which calls these before it reads the error waits for ever.
type Watcher struct {
	*fsnotify.Watcher
	// Failed has at most one error that was not read yet: an [fsnotify.ErrEventOverflow] if there was
	// one, else the first. It is closed some time after Close.
	Failed <-chan error
}

// New returns a watcher of nothing. It must be closed. Errors are those of the library.
func New() (*Watcher, error) {
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	failed := make(chan error, 1)
	go func() { // ends when the library closes Errors, which Close leads to
		defer close(failed)
		for err := range fs.Errors {
			keep(failed, err)
		}
	}()
	return &Watcher{fs, failed}, nil
}

// keep puts an error into a channel with room for one. It never waits, because no other goroutine
// sends there.
func keep(failed chan error, err error) {
	if errors.Is(err, syscall.EINVAL) {
		return // a folder that was moved and then removed, of which the events tell
	}
	if errors.Is(err, fsnotify.ErrEventOverflow) {
		select {
		case <-failed:
		default:
		}
	}
	select {
	case failed <- err:
	default:
	}
}
