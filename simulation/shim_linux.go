//go:build !hostsup_posix

package simulation

import (
	"sync"
	"time"

	"github.com/hostsup/hostsup/sandbox"
)

// keeper is a simulated shim: the parent of a process, which may outlive its supervisor.
type keeper struct {
	m      *machine
	name   string
	folder string
	p      *process
	pipes  wire // its ends of those of the process
	dice   *dice

	mu        sync.Mutex
	changed   *sync.Cond
	client    *shimConn
	recorded  bool // its record is written
	survives  bool // the end of its client is not its own
	ending    bool // it kills its process, and ends
	over      bool // it has ended
	input     [][]byte
	inputEnds bool
	taken     uint64 // bytes that were written to the process, or dropped
	out       []byte // what is not acknowledged
	acked     uint64 // where that begins
	outEnds   bool
	exit      *sandbox.Exit
	gone      bool
	ended     chan struct{} // closed when over is set
}

// shimWindow is how many bytes of output a shim holds.
const shimWindow = 128 << 10

// End implements owner.
func (k *keeper) End(e sandbox.Exit) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.exit = &e
	k.tell(func(c *shimConn) { c.hasExited(e) })
	if k.dice.chance(0.5) { // it has left nothing behind
		k.p.vanish()
	}
}

// Vanish implements owner.
func (k *keeper) Vanish() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gone = true
	k.tell(func(c *shimConn) { c.isGone() })
	if k.ending {
		k.finish()
	}
}

// tell reports to the client, if one is there. mu is held.
func (k *keeper) tell(f func(*shimConn)) {
	if c := k.client; c != nil {
		c.reports.add(func() { f(c) })
	}
}

// end kills what is left and ends. mu is held.
func (k *keeper) end() {
	if k.ending {
		return
	}
	k.ending = true
	if k.gone {
		k.finish()
		return
	}
	k.p.signal(sigKill)
}

// finish: nothing is left of the process. mu is held.
func (k *keeper) finish() {
	if k.over {
		return
	}
	k.over = true
	close(k.ended)
	k.changed.Broadcast()
	if c := k.client; c != nil {
		k.client = nil
		c.lose()
	}
}

// feed writes the input to the process.
func (k *keeper) feed() {
	for {
		k.mu.Lock()
		for len(k.input) == 0 && !k.over && !k.inputEnds {
			k.changed.Wait()
		}
		if len(k.input) == 0 {
			k.mu.Unlock()
			_ = k.pipes.CloseWrite()
			return
		}
		b := k.input[0]
		k.input = k.input[1:]
		k.mu.Unlock()
		_, _ = k.pipes.Write(b) // a process that has ended reads no more
		k.mu.Lock()
		k.taken += uint64(len(b))
		taken := k.taken
		k.tell(func(c *shimConn) { c.hasTaken(taken) })
		k.mu.Unlock()
	}
}

// drain reads the output of the process.
func (k *keeper) drain() {
	buf := make([]byte, 16<<10)
	for {
		n, err := k.pipes.Read(buf)
		k.mu.Lock()
		k.out = append(k.out, buf[:n]...)
		end := k.acked + uint64(len(k.out))
		b := append([]byte(nil), buf[:n]...)
		if n > 0 {
			k.tell(func(c *shimConn) { c.hasSaid(end, b) })
		}
		if err != nil {
			k.outEnds = true
			k.tell(func(c *shimConn) { c.hasFallenSilent() })
			k.mu.Unlock()
			return
		}
		for len(k.out) >= shimWindow && !k.over {
			k.changed.Wait()
		}
		k.mu.Unlock()
	}
}

// leave: the client has hung up.
func (k *keeper) leave(c *shimConn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.client != c {
		return
	}
	k.client = nil
	if !k.survives {
		k.end()
	}
}

// queue has functions run one after the other, each when the kernel says so.
type queue struct {
	k    *kernel
	name string
	dice *dice

	mu      sync.Mutex
	waiting []func()
	moving  bool
}

func newQueue(k *kernel, name string) *queue {
	return &queue{k: k, name: name, dice: k.dice("queue %s", name)}
}

func (q *queue) add(f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, f)
	q.move()
}

// move has the next one run. mu is held.
func (q *queue) move() {
	if q.moving || len(q.waiting) == 0 {
		return
	}
	q.moving = true
	q.k.soon(q.dice, q.name, func() {
		q.mu.Lock()
		f := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.mu.Unlock()
		f()
		q.mu.Lock()
		defer q.mu.Unlock()
		q.moving = false
		q.move()
	})
}

// dropLast drops what is at the end of the queue, which was not sent as a whole.
func (q *queue) dropLast() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.waiting); n > 1 || n == 1 && !q.moving {
		q.waiting = q.waiting[:n-1]
	}
}

// answerTime is how long a shim may take to start.
const answerTime = 2 * time.Millisecond
