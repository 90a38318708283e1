//go:build !hostsup_posix

package simulation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/shim"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/survive"
)

const sigKill = syscall.SIGKILL

// shimConn is the connection of a supervisor to a keeper, and the output of the process.
type shimConn struct {
	t       *tenant
	k       *keeper
	orders  *queue
	reports *queue
	exited  chan struct{}
	gone    chan struct{}
	lost    chan struct{}

	mu      sync.Mutex
	changed *sync.Cond
	ended   error // of the connection
	hungUp  bool
	sent    uint64
	taken   uint64
	buf     []byte // that has come, and is not read
	from    uint64
	read    uint64
	silent  bool // no more will come
	exit    sandbox.Exit
	noticed bool // the first read was
	losing  sync.Once
}

var (
	_ survive.Conn   = (*shimConn)(nil)
	_ survive.Stream = (*shimConn)(nil)
)

// inputWindow is how many bytes of input a shim holds.
const inputWindow = 64 << 10

// newShimConn connects a supervisor to a keeper. k.mu and machine.mu are held.
func newShimConn(t *tenant, k *keeper) *shimConn {
	name := fmt.Sprintf("%s to %d", k.name, t.number)
	c := &shimConn{
		t: t, k: k, orders: newQueue(t.kernel, "orders "+name), reports: newQueue(t.kernel, "reports "+name),
		exited: make(chan struct{}), gone: make(chan struct{}), lost: make(chan struct{}),
		from: k.acked, read: k.acked, sent: k.taken, taken: k.taken,
	}
	for _, b := range k.input {
		c.sent += uint64(len(b))
	}
	c.changed = sync.NewCond(&c.mu)
	k.client = c
	if end := k.acked + uint64(len(k.out)); len(k.out) > 0 {
		b := append([]byte(nil), k.out...)
		k.tell(func(c *shimConn) { c.hasSaid(end, b) })
	}
	if k.outEnds {
		k.tell(func(c *shimConn) { c.hasFallenSilent() })
	}
	if k.exit != nil {
		e := *k.exit
		k.tell(func(c *shimConn) { c.hasExited(e) })
	}
	if k.gone {
		k.tell(func(c *shimConn) { c.isGone() })
	}
	t.conns = append(t.conns, c)
	return c
}

// What the keeper reports.

func (c *shimConn) hasSaid(end uint64, b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if end != c.read+uint64(len(c.buf))+uint64(len(b)) {
		c.t.check.wrong("%s: the shim's bytes end at %d, after %d", c.k.name, end, c.read)
	}
	c.buf = append(c.buf, b...)
	c.changed.Broadcast()
}

func (c *shimConn) hasFallenSilent() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent = true
	c.changed.Broadcast()
}

func (c *shimConn) hasTaken(n uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken = n
	c.changed.Broadcast()
}

func (c *shimConn) hasExited(e sandbox.Exit) {
	c.exit = e
	close(c.exited)
}

func (c *shimConn) isGone() { close(c.gone) }

// lose has the client notice the end of the connection: its reader, its writers, and those who watch.
func (c *shimConn) lose() {
	c.losing.Do(func() {
		c.reports.add(func() {
			c.mu.Lock()
			c.ended = fmt.Errorf("%w: %w", shim.ErrLost, io.EOF)
			c.changed.Broadcast()
			c.mu.Unlock()
		})
		c.reports.add(func() { close(c.lost) })
	})
}

// cut ends the connection of a supervisor that is killed. What it has sent arrives, but for a message that it
// had not written as a whole.
func (c *shimConn) cut() {
	if c.k.dice.chance(0.3) {
		c.orders.dropLast()
	}
	c.leave()
}

// leave closes the connection.
func (c *shimConn) leave() {
	c.orders.add(func() {
		c.k.leave(c)
		c.lose()
	})
}

// order sends an order to the keeper.
func (c *shimConn) order(f func(k *keeper)) error {
	dead := c.t.isDead()
	c.mu.Lock()
	err := c.ended
	c.mu.Unlock()
	if err == nil && dead {
		err = shim.ErrLost
	}
	if err == nil {
		c.orders.add(func() {
			c.k.mu.Lock()
			defer c.k.mu.Unlock()
			if c.k.client == c {
				f(c.k)
			}
		})
	}
	return err
}

// Record implements [survive.Conn].
func (c *shimConn) Record() shim.Record {
	return shim.Record{Version: 1, Name: c.k.name, Command: shim.Process{PID: c.k.p.pid, Start: 1}}
}

// Stdout implements [survive.Conn].
func (c *shimConn) Stdout() survive.Stream { return c }

// Stderr implements [survive.Conn].
func (c *shimConn) Stderr() survive.Stream { return nil }

// Exited implements [survive.Conn].
func (c *shimConn) Exited() <-chan struct{} { return c.exited }

// Exit implements [survive.Conn].
func (c *shimConn) Exit() sys.Exit { return sys.Exit{Code: c.exit.Code, Signal: c.exit.Signal} }

// Gone implements [survive.Conn].
func (c *shimConn) Gone() <-chan struct{} { return c.gone }

// Lost implements [survive.Conn].
func (c *shimConn) Lost() <-chan struct{} { return c.lost }

// Send implements [survive.Conn].
func (c *shimConn) Send(p []byte) error {
	c.mu.Lock()
	for c.ends() == nil && !c.room(p) {
		c.changed.Wait()
	}
	err := c.ends()
	if err == nil {
		c.sent += uint64(len(p))
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	return c.put(p)
}

func (c *shimConn) put(p []byte) error {
	b := append([]byte(nil), p...)
	return c.order(func(k *keeper) {
		k.input = append(k.input, b)
		k.changed.Broadcast()
	})
}

// room reports whether the keeper has room for p. mu is held.
func (c *shimConn) room(p []byte) bool {
	return c.sent == c.taken || c.sent+uint64(len(p))-c.taken <= inputWindow
}

// ends returns why nothing is sent or read any more. mu is held.
func (c *shimConn) ends() error {
	if c.hungUp {
		return os.ErrClosed
	}
	return c.ended
}

// TrySend implements [survive.Conn].
func (c *shimConn) TrySend(p []byte) (bool, error) {
	c.mu.Lock()
	err, room := c.ends(), c.room(p)
	if err == nil && room {
		c.sent += uint64(len(p))
	}
	c.mu.Unlock()
	if err != nil || !room {
		return false, err
	}
	return true, c.put(p)
}

// CloseInput implements [survive.Conn].
func (c *shimConn) CloseInput() error {
	return c.order(func(k *keeper) {
		k.inputEnds = true
		k.changed.Broadcast()
	})
}

// Signal implements [survive.Conn].
func (c *shimConn) Signal(sig syscall.Signal) error {
	return c.order(func(k *keeper) {
		c.t.check.endsSurvivor(k.p.host, k.p.life)
		k.p.signal(sig)
	})
}

// Kill implements [survive.Conn].
func (c *shimConn) Kill() error {
	return c.order(func(k *keeper) {
		c.t.check.endsSurvivor(k.p.host, k.p.life)
		k.p.signal(sigKill)
	})
}

// Hangup implements [survive.Conn].
func (c *shimConn) Hangup() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hungUp = true
	c.changed.Broadcast()
}

// Release implements [survive.Conn].
func (c *shimConn) Release(ctx context.Context) error {
	err := c.order(func(k *keeper) {
		c.t.check.endsSurvivor(k.p.host, k.p.life)
		k.end()
	})
	if err != nil && !errors.Is(err, shim.ErrLost) {
		return err
	}
	if c.t.isDead() {
		return shim.ErrLost
	}
	for _, over := range []<-chan struct{}{c.lost, c.k.ended} {
		select {
		case <-over:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return c.t.Remove(c.k.folder)
}

// Close implements [survive.Conn]. It does not wait: its caller holds a mutex, which synctest does not see.
func (c *shimConn) Close() error {
	c.leave()
	return nil
}

// From implements [survive.Stream].
func (c *shimConn) From() uint64 { return c.from }

// Read implements [survive.Stream].
func (c *shimConn) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.noticed {
		c.noticed = true
		c.t.check.reopened(c.t.number, c.k.p.host, c.k.p.life)
	}
	for len(c.buf) == 0 && !c.silent && c.ends() == nil {
		c.changed.Wait()
	}
	switch {
	case c.hungUp:
		return 0, os.ErrClosed
	case len(c.buf) > 0:
	case c.silent:
		return 0, io.EOF
	default:
		return 0, c.ended
	}
	n := copy(p, c.buf)
	c.buf, c.read = c.buf[n:], c.read+uint64(n)
	return n, nil
}

// Ack implements [survive.Stream].
func (c *shimConn) Ack(offset uint64) error {
	c.mu.Lock()
	offset = min(offset, c.read)
	c.mu.Unlock()
	return c.order(func(k *keeper) {
		if offset > k.acked {
			k.out, k.acked = k.out[offset-k.acked:], offset
			k.changed.Broadcast()
		}
	})
}

// start starts a shim, and its process.
func (t *tenant) start(o shim.Options) (*shimConn, error) {
	name := t.named(o.Name)
	dice := t.dice("start %s", name)
	time.Sleep(dice.within(3 * time.Millisecond))
	host, _ := nameOf(o.Name)
	k := &keeper{m: t.machine, name: name, folder: o.Folder, dice: t.dice("shim %s", name), ended: make(chan struct{})}
	k.changed = sync.NewCond(&k.mu)
	t.mu.Lock()
	if err := t.refuses(host); err != nil {
		t.mu.Unlock()
		return nil, fmt.Errorf("start %s: %w", o.Name, err)
	}
	if t.shims[o.Folder] != nil {
		t.mu.Unlock()
		return nil, fmt.Errorf("start %s: %w", o.Name, failed("mkdir", o.Folder, os.ErrExist))
	}
	t.shims[o.Folder] = k
	ours, theirs := connect(t.kernel, name)
	k.pipes = ours
	k.p = t.spawn(o.Name, name, theirs, func(int, *process) owner { return k })
	k.mu.Lock()
	c := newShimConn(t, k)
	k.mu.Unlock()
	t.mu.Unlock()
	t.Go(k.feed)
	t.Go(k.drain)
	time.Sleep(dice.within(answerTime))
	if t.isDead() {
		return nil, shim.ErrLost
	}
	k.mu.Lock()
	k.recorded = true
	k.mu.Unlock()
	return c, c.order(func(k *keeper) { k.survives = o.Survive })
}

// Open implements [survive.Machine].
func (t *tenant) Open(dir string) (survive.Conn, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.shims[dir]
	if k == nil || t.dead {
		return nil, fmt.Errorf("open the shim in %s: %w", dir, shim.ErrGone)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.over:
		return nil, fmt.Errorf("open the shim in %s: %w", dir, shim.ErrGone)
	case k.client != nil:
		return nil, fmt.Errorf("open the shim in %s: %w", dir, shim.ErrBusy)
	case k.ending || !k.recorded:
		return nil, fmt.Errorf("open the shim in %s: %w", dir, shim.ErrNotReady)
	}
	return newShimConn(t, k), nil
}

// Start implements [survive.Machine].
func (s survivors) Start(o shim.Options) (survive.Conn, error) {
	c, err := s.start(o)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Remove implements [survive.Machine].
func (t *tenant) Remove(dir string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.shims[dir]
	switch {
	case t.dead:
		return failed("remove", dir, syscall.EIO)
	case k == nil:
		return nil
	}
	select {
	case <-k.ended:
	default:
		return fmt.Errorf("remove %s: %w", dir, shim.ErrBusy)
	}
	delete(t.shims, dir)
	return nil
}

// Hunt implements [survive.Machine]: a shim that is killed leaves nothing here.
func (t *tenant) Hunt(shim.Record) {}

// survivors is a tenant as the hosts have it that outlive it. Both have a method Start.
type survivors struct{ *tenant }

var _ survive.Machine = survivors{}

// survive has hosts outlive their supervisor.
func (t *tenant) survive() (supervisor.Feature, supervisor.Part) { return survive.On(survivors{t}) }
