package execserver

import (
	"context"
	"sync"

	"github.com/hostsup/hostsup/execserver/wire"
)

// Watch waits for one change. It is the connection's and ends with it.
type Watch struct {
	done chan struct{}
	once sync.Once
	err  error
}

// WatchMissing waits until one of the missing paths may have appeared, or the
// present one has changed; present may be "". ok is false when there is nothing to
// wait for, because one of the missing paths exists already. A new watch ends the
// one before it.
func (f FS) WatchMissing(ctx context.Context, missing []string, present string) (w *Watch, ok bool, err error) {
	l, err := f.c.ready(ctx)
	if err != nil {
		return nil, false, err
	}
	p := wire.FSWatchMissingParams{WatchID: processIDs.Add(1), Missing: []wire.URI{}}
	for _, name := range missing {
		u, err := f.c.uri(name)
		if err != nil {
			return nil, false, pathError("watch", name, err)
		}
		p.Missing = append(p.Missing, u)
	}
	if present != "" {
		u, err := f.c.uri(present)
		if err != nil {
			return nil, false, pathError("watch", present, err)
		}
		p.Present = &u
	}
	w = &Watch{done: make(chan struct{})}
	if err := l.addWatch(p.WatchID, w); err != nil {
		return nil, false, err
	}
	var r wire.FSWatchMissingResult
	err = l.call(ctx, wire.MethodFSWatchMissing, p, &r, nil)
	if err != nil || !r.Watching {
		l.takeWatch(p.WatchID)
		return nil, false, err
	}
	return w, true, nil
}

// Done is closed when something has changed, or nothing more will be told.
func (w *Watch) Done() <-chan struct{} { return w.done }

// Err is nil after a change, ErrDisconnected when the connection has ended.
// Valid once Done is closed.
func (w *Watch) Err() error { return w.err }

// end ends the watch; w may be nil.
func (w *Watch) end(err error) {
	if w == nil {
		return
	}
	w.once.Do(func() {
		w.err = err
		close(w.done)
	})
}

func (l *link) addWatch(id uint64, w *Watch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end != nil {
		return l.end
	}
	l.watches[id] = w
	return nil
}

func (l *link) takeWatch(id uint64) *Watch {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.watches[id]
	delete(l.watches, id)
	return w
}
