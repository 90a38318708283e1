package peers

import (
	"io"
	"sync"
)

// writer sends the frames of many callers with as few writes as they allow: a
// lone frame is written by its caller, which spares the wake-up of another
// goroutine; frames of many leave together from the loop.
type writer struct {
	w    io.Writer
	wake chan struct{} // capacity 1

	mu         sync.Mutex
	buf, spare []byte
	writing    bool
	err        error
}

func newWriter(w io.Writer) *writer { return &writer{w: w, wake: make(chan struct{}, 1)} }

// send appends a frame. With alone it is written here when nobody is writing.
func (w *writer) send(appendTo func([]byte) ([]byte, error), alone bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	var err error
	if w.buf, err = appendTo(w.buf); err != nil || w.writing {
		return err
	}
	w.writing = true
	if alone {
		w.flush()
		return w.err
	}
	w.wake <- struct{}{} // it is empty: writing was false
	return nil
}

// flush writes until nothing waits. Under the lock, which it gives up while it
// writes.
func (w *writer) flush() {
	for len(w.buf) > 0 && w.err == nil {
		out := w.buf
		w.buf = w.spare[:0]
		w.mu.Unlock()
		_, err := w.w.Write(out)
		w.mu.Lock()
		w.spare, w.err = out, err
	}
	w.writing = false
}

// loop runs until done is closed.
func (w *writer) loop(done <-chan struct{}) {
	for {
		select {
		case <-w.wake:
		case <-done:
			return
		}
		w.mu.Lock()
		w.flush()
		w.mu.Unlock()
	}
}
