package server

import (
	"errors"
	"os"
	"sync"
	"syscall"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/sys"
)

// Bounds of the input that a process has not read yet.
const (
	inputBound = 16 << 20 // bytes, before the next write is answered only when some are gone
	inputMost  = 64 << 20 // bytes, before the next write is refused
	pieceBytes = 64       // that each write counts beside its own
)

// inputState is the outcome of a write.
type inputState int

const (
	inputTaken inputState = iota
	inputFull             // too much waits already
	inputShut             // nothing is taken any more
)

// input writes to the stdin or the terminal of a process. What the process
// does not take at once is written by a goroutine that is there for it alone.
type input struct {
	file *os.File
	raw  syscall.RawConn
	keep bool // input must not close the file
	mem  *memory

	mu      sync.Mutex
	waiting [][]byte
	bytes   int
	answers []func() // of writes that came when there was too much
	busy    bool     // the goroutine runs
	eof     bool     // close when all is written
	shut    bool
}

func newInput(f *os.File, keep bool, mem *memory) (*input, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	return &input{file: f, raw: raw, keep: keep, mem: mem}, nil
}

// write takes b, in order of the calls, and calls done when there is room for
// more: before it returns, mostly. When done has to wait for the process, wait
// is called first, and says whether it may.
func (in *input) write(b []byte, wait func() bool, done func()) inputState {
	in.mu.Lock()
	if in.shut || in.eof {
		in.mu.Unlock()
		return inputShut
	}
	if !in.busy && len(b) > 0 {
		n, err := sys.TryWrite(in.raw, b)
		if err != nil {
			n = len(b) // it has no reader any more
		}
		b = b[n:]
	}
	late := in.bytes+len(b) > inputBound
	if late && (in.bytes > inputMost || !wait()) {
		if in.bytes > 0 {
			in.mu.Unlock()
			return inputFull
		}
		late = false // a part of it is written
	}
	if len(b) > 0 {
		in.waiting = append(in.waiting, b)
		in.bytes += len(b) + pieceBytes
		if !in.busy {
			in.busy = true
			go in.run()
		}
	}
	if late {
		in.answers = append(in.answers, done)
		in.mu.Unlock()
		return inputTaken
	}
	in.mu.Unlock()
	done()
	return inputTaken
}

// run writes what waits, and ends with it.
func (in *input) run() {
	for {
		in.mu.Lock()
		if len(in.waiting) == 0 || in.shut {
			in.busy = false
			if in.eof && !in.shut {
				in.shutNow()
			}
			in.answerAll()
			return // unlocked by answerAll
		}
		b := in.waiting[0]
		in.waiting = in.waiting[1:]
		in.mu.Unlock()
		_, err := in.file.Write(b)
		in.mu.Lock()
		in.bytes -= len(b) + pieceBytes
		if err != nil && !errors.Is(err, os.ErrClosed) { // there is no reader any more: the rest is lost too
			in.waiting, in.bytes = nil, 0
		}
		if in.bytes <= inputBound {
			in.answerAll()
		} else {
			in.mu.Unlock()
		}
	}
}

// answerAll answers the writes that waited, and unlocks.
func (in *input) answerAll() {
	answers := in.answers
	in.answers = nil
	in.mu.Unlock()
	for _, f := range answers {
		f()
	}
}

// end closes the input once what came before is written.
func (in *input) end() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.shut || in.eof {
		return false
	}
	in.eof = true
	if !in.busy {
		in.shutNow()
	}
	return true
}

func (in *input) shutNow() {
	in.mem.released(in.bytes)
	in.shut, in.waiting, in.bytes = true, nil, 0
	if !in.keep {
		in.file.Close()
	}
}

// close closes it at once; what waits is lost. A nil input is fine.
func (in *input) close() {
	if in == nil {
		return
	}
	in.mu.Lock()
	if !in.shut {
		in.shutNow() // wakes the goroutine, if it waits for the process
	}
	if in.busy {
		in.mu.Unlock() // it answers
		return
	}
	in.answerAll()
}

// forget undoes seen.
func (m *writeMemory) forget(id string) { delete(m.known, id) }

// writeMemory knows the last write ids of a process.
type writeMemory struct {
	known map[string]struct{}
	order []string
	next  int
}

// seen remembers id, and reports whether it was known.
func (m *writeMemory) seen(id string) bool {
	if _, ok := m.known[id]; ok {
		return true
	}
	if m.known == nil {
		m.known = map[string]struct{}{}
	}
	m.known[id] = struct{}{}
	if len(m.order) < wire.RememberedWrites {
		m.order = append(m.order, id)
		return false
	}
	delete(m.known, m.order[m.next])
	m.order[m.next] = id
	m.next = (m.next + 1) % len(m.order)
	return false
}
