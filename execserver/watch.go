package execserver

import (
	"context"
	"sync"

	"github.com/hostsup/hostsup/execserver/wire"
)

// Watch waits for one change. It ends with its connection.
type Watch struct {
	done chan struct{}
	once sync.Once
	err  error
}

// WatchMissing waits until one of the missing paths may have appeared, or the
// present one has changed; present may be "". ok is false when one of the missing
// paths exists already, or the server cannot watch them. A new watch ends the one
// before it.
func (f FS) WatchMissing(ctx context.Context, missing []string, present string) (w *Watch, ok bool, err error) {
	l, err := f.c.ready(ctx)
	if err != nil {
		return nil, false, err
	}
	p := wire.FSWatchMissingParams{WatchID: processIDs.Add(1), Missing: make([]wire.URI, len(missing))}
	for i, name := range missing {
		if p.Missing[i], err = f.c.uri(name); err != nil {
			return nil, false, pathError("watch", name, err)
		}
	}
	if present != "" {
		p.Present = new(wire.URI)
		if *p.Present, err = f.c.uri(present); err != nil {
			return nil, false, pathError("watch", present, err)
		}
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

// Done returns a channel that is closed after a change, or when the watch has ended.
func (w *Watch) Done() <-chan struct{} { return w.done }

// Err returns nil after a change, and ErrDisconnected when the connection has ended.
// It must not be called before Done is closed.
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
