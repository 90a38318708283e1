package server

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/execserver/server/files"
	"github.com/hostsup/hostsup/execserver/wire"
)

const (
	// maxFileWork is how many requests about files of one connection work at once.
	maxFileWork = 16
	// stuckAfter is how long a request about files may take for one step, such as a
	// system call, before it counts as stuck: a file system that does not answer may
	// block it for ever. From then on no other request waits for it.
	stuckAfter = 5 * time.Second
	// maxStuck is how many requests of one connection may be stuck beside those that
	// work. Each of them takes a thread.
	maxStuck = 64
)

// fileLane has the requests about files of one connection take effect as if
// one came after the other: those that change something wait for all before
// them, and everything after them for them. The others run side by side.
type fileLane struct {
	fs     *files.Files  // carries out what nothing confines
	pool   *pool         // and what something does
	opened bool          // a file may be open in the pool
	change *fileWork     // the last change, or nil
	since  []*fileWork   // the requests after it
	slots  chan struct{} // a token of each that works
	stuck  atomic.Int64
}

// fileWork is a request about files, and the context in which it is carried out. It
// counts the calls of Err, which come between the steps of the work.
type fileWork struct {
	context.Context
	lane  *fileLane
	steps atomic.Uint64
	over  chan struct{} // closed when it is done, or stuck

	mu    sync.Mutex
	seen  uint64      // steps at the last look
	timer *time.Timer // of the next look; nil when no look is due
	stuck bool
}

// Err implements context.Context.
func (w *fileWork) Err() error {
	w.steps.Add(1)
	return w.Context.Err()
}

// isOver reports whether later requests need not wait for it any more.
func (w *fileWork) isOver() bool {
	select {
	case <-w.over:
		return true
	default:
		return false
	}
}

// begin waits for a slot. With watch it gives the slot back when it is stuck.
func (w *fileWork) begin(watch bool) {
	w.lane.slots <- struct{}{}
	if !watch {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(stuckAfter, w.look)
}

// look checks whether the work has made progress.
func (w *fileWork) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil {
		return // it is done
	}
	if n := w.steps.Load(); n != w.seen {
		w.seen = n
		w.timer.Reset(stuckAfter)
		return
	}
	if w.lane.stuck.Add(1) > maxStuck {
		w.lane.stuck.Add(-1)
		w.timer.Reset(stuckAfter)
		return
	}
	w.stuck, w.timer = true, nil
	close(w.over)
	<-w.lane.slots
}

// end is called when it is done.
func (w *fileWork) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stuck {
		w.lane.stuck.Add(-1)
		return
	}
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	close(w.over)
	<-w.lane.slots
}

func (c *conn) fileLane() *fileLane {
	if c.files == nil {
		changed := func(m wire.FSMissingChanged) {
			if b, err := wire.AppendNotification(nil, wire.NotifyFSAppeared, &m); err == nil {
				c.respond(b)
			}
		}
		c.files = &fileLane{fs: files.New(files.Limits{Changed: changed}), pool: &pool{c: c, handles: map[string]*worker{}}, slots: make(chan struct{}, maxFileWork)}
	}
	return c.files
}

func (l *fileLane) close() {
	l.fs.Close()
	l.pool.close()
}

// request carries out a request about files in its turn. params are those of
// the request, in memory that is used again when request has returned.
func (l *fileLane) request(c *conn, method string, q *files.Request, params []byte, r reply) {
	confined := q.Watches && c.srv.opt.Sandbox != nil
	switch {
	case q.Handle == "" || q.Opens:
		confined = confined || c.srv.confinesFiles(q.Sandbox)
	default:
		confined = l.opened
	}
	if !confined {
		l.run(c, q.Changes, true, func(ctx context.Context) { r.either(l.direct(ctx, q)) })
		return
	}
	l.opened = l.opened || q.Opens
	params = bytes.Clone(params)
	// The steps of a confined process are not seen from here.
	l.run(c, q.Changes, false, func(ctx context.Context) {
		if q.Handle != "" && (l.fs.Holds(q.Handle) || !q.Opens && l.pool.holder(q.Handle) == nil) {
			r.either(l.direct(ctx, q))
			return
		}
		r.either(l.pool.do(method, q, params))
	})
}

func (l *fileLane) direct(ctx context.Context, q *files.Request) (any, *wire.Error) {
	if q.Opens && l.pool.holder(q.Handle) != nil {
		return nil, wire.InvalidRequest("file handle `%s` already exists", q.Handle)
	}
	return l.fs.Do(ctx, q)
}

// run calls f in its turn, on a goroutine of its own. watch is true when f calls Err
// of its context between its steps.
func (l *fileLane) run(c *conn, change, watch bool, f func(context.Context)) {
	w := &fileWork{Context: c.ctx, lane: l, over: make(chan struct{})}
	var before []*fileWork
	if l.change != nil {
		before = append(before, l.change)
	}
	if change {
		before = append(before, l.since...)
		l.change, l.since = w, nil
	} else {
		l.since = append(slices.DeleteFunc(l.since, (*fileWork).isOver), w)
	}
	c.handlers.Go(func() {
		for _, b := range before {
			<-b.over
		}
		w.begin(watch)
		defer w.end()
		f(w)
	})
}

// settled calls f after all changes of files that were requested before.
func (l *fileLane) settled(c *conn, f func()) {
	if l != nil && l.change != nil && !l.change.isOver() {
		wait := l.change.over
		c.handlers.Go(func() { <-wait; f() })
		return
	}
	f()
}
