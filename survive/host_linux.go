//go:build !hostsup_posix

package survive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/internal/shim"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
)

const supported = true

// host keeps the lives of one host, over all its configurations.
type host struct {
	ref *actors.Ref
	on  Machine
	dir string // "" without a state folder

	known   chan struct{}   // closed when begin has found what is left
	machine *lifecycle.Host // the actor's

	mu      sync.Mutex
	taken   *kept          // the life that is taken back, until it begins
	left    []*life        // to be ended before a life begins
	next    *starter       // of the life that is given it, until its process is asked for
	current *starter       // of the process that runs
	going   bool           // another supervisor takes over the process that runs
	over    bool           // closed
	want    lifecycle.Past // is to be written
	last    lifecycle.Past // was written last
	writing bool           // a goroutine writes

	file chan struct{} // has an element while the file of past is changed: a goroutine that waits for a slow disk holds no mutex
}

// kept is a life whose process runs, or has ended without a supervisor.
type kept struct {
	*life
	conn    Conn
	lasting *sandbox.Lasting // nil without cgroups
}

// close leaves the process as it is.
func (k *kept) close() {
	k.lasting.Close()
	_ = k.conn.Close()
}

func newHost(ref *actors.Ref, on machine) *host {
	m, dir := machineOf(on, actors.StateDir(ref))
	h := &host{ref: ref, on: m, known: make(chan struct{}), file: make(chan struct{}, 1)}
	if dir != "" {
		h.dir = hostDir(dir, ref.Name())
	}
	return h
}

// begin has the host go on where it has ended with a supervisor before this one.
func (h *host) begin(m *lifecycle.Host) {
	h.machine = m
	lifecycle.Resume(m, h.past())
	close(h.known)
}

// past finds what a supervisor before this one has left of the host.
func (h *host) past() lifecycle.Past {
	if h.dir == "" {
		return lifecycle.Past{}
	}
	p, err := readPast(h.on, h.dir)
	if err != nil {
		h.ref.Log().Warn("crashes before the start of the supervisor are forgotten", "error", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.left = lives(h.on, h.dir)
	if len(h.left) == 0 {
		return p
	}
	last := h.left[0]
	p.Life = max(p.Life, last.Life)
	taken, err := h.open(last)
	if err != nil {
		h.ref.Log().Warn("the process of a supervisor before this one is not taken back", "life", last.Life, "reason", err)
		return p
	}
	h.taken, h.left = taken, h.left[1:]
	p.Life, p.Spawned = last.Life-1, last.Started // it is the next one
	return p
}

// busyWait bounds how long a shim may take to notice that the supervisor before has ended.
const busyWait = 5 * time.Second

// errLeft is an error of open.
var errLeft = errors.New("it has left its cgroups")

// open connects to the shim of a life, if that can go on.
func (h *host) open(l *life) (*kept, error) {
	spec := h.ref.Spec().Spec
	if err := l.check(&spec); err != nil {
		return nil, err
	}
	conn, err := connect(h.on, l.shim())
	if err != nil {
		return nil, err
	}
	k := &kept{life: l, conn: conn}
	if k.lasting, err = l.enter(spec.Resources, conn.Record().Command); err != nil {
		k.close()
		return nil, err
	}
	l.Epoch++ // first: no id of this supervisor may be given again by another one
	if err := l.save(); err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

// enter opens the cgroups of a life, and gives them the limits of the configuration. It returns nil without cgroups.
func (l *life) enter(limits policy.Limits, command shim.Process) (*sandbox.Lasting, error) {
	was, is := l.Limits, limits
	for _, of := range []*policy.Limits{&was, &is} { // those that are the cgroups' may change
		of.Memory, of.Tasks, of.CPU = 0, 0, 0
	}
	if was != is || l.Cgroups == nil && limits.Any() {
		return nil, errChanged
	}
	if l.Cgroups == nil {
		return nil, nil
	}
	in, err := l.Cgroups.Open(limits)
	if err != nil {
		return nil, fmt.Errorf("its cgroups: %w", err)
	}
	if !in.Holds(command.PID) {
		if st, err := sys.ReadStat(command.PID); err == nil && st.Start == command.Start && !st.Ended() {
			in.Close()
			return nil, errLeft
		}
	}
	l.Limits = limits
	return in, nil
}

// remove ends what is left in the cgroups of a life, removes them, and then the file.
func (l *life) remove() error {
	if err := l.Cgroups.Remove(releaseWait); err != nil {
		return err
	}
	return l.on.RemoveFile(l.path)
}

// dispose removes what is kept of a life whose processes have ended. If that fails, it is tried again before the next life.
func (h *host) dispose(l *life) {
	err := l.remove()
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return
	}
	h.ref.Log().Error("what is kept of a life is not removed", "life", l.Life, "error", err)
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.over {
		h.left = append(h.left, l)
	}
}

// waiting reports whether a life waits to be taken back, once that is known or ctx is done.
func (h *host) waiting(ctx context.Context) bool {
	select {
	case <-h.known:
	case <-ctx.Done():
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.taken != nil
}

// transition follows a change of the state.
func (h *host) transition(t lifecycle.Transition) {
	if t.To == lifecycle.Stopping {
		h.leaving()
	}
	h.changed()
}

// changed has written what a later supervisor is to know. The number of a life that has just begun is that of
// its file.
func (h *host) changed() {
	p := lifecycle.PastOf(h.machine)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dir == "" || h.over || h.going || same(h.want, p) {
		return
	}
	h.want = p
	if !h.writing {
		h.writing = true
		h.ref.Background(h.write)
	}
}

// write writes what changed has found until that is in the file.
func (h *host) write() {
	for {
		h.mu.Lock()
		p := h.want
		if h.over || same(h.last, p) {
			h.writing = false
			h.mu.Unlock()
			return
		}
		h.last = p
		h.mu.Unlock()
		if err := h.writePast(p); err != nil {
			h.ref.Log().Warn("crashes are not remembered over the end of the supervisor", "error", err)
		}
	}
}

// writePast writes a file, unless the host is closed.
func (h *host) writePast(p lifecycle.Past) error {
	h.file <- struct{}{}
	defer func() { <-h.file }()
	h.mu.Lock()
	over := h.over
	h.mu.Unlock()
	if over {
		return nil
	}
	return writePast(h.on, h.dir, p)
}

func same(a, b lifecycle.Past) bool {
	return a.Life == b.Life && a.Streak == b.Streak && slices.EqualFunc(a.Crashes, b.Crashes, time.Time.Equal)
}

// starting has the shim start the process of a life, or takes back the one that runs.
func (h *host) starting(ctx context.Context, s *actors.Start) error {
	if h.dir == "" {
		return fmt.Errorf("%w: the supervisor has no state folder", ErrUnfit)
	}
	spec := h.ref.Spec().Spec
	if _, err := Fit(&spec); err != nil {
		return err
	}
	h.mu.Lock()
	if h.going {
		h.mu.Unlock()
		return errGoing
	}
	var taken *kept
	if h.taken != nil && h.taken.Life == s.Life {
		taken, h.taken = h.taken, nil
	}
	left := h.leave()
	h.mu.Unlock()
	for i, l := range left {
		if err := end(ctx, h.on, l); err != nil {
			h.mu.Lock() // for the next try, after this life
			h.left, h.taken = left[i:], taken
			h.mu.Unlock()
			return fmt.Errorf("end the process of life %d, which a supervisor before this one has left: %w", l.Life, err)
		}
	}
	next := &starter{host: h, tree: s.Launcher.Kill() == sandbox.KillCgroup}
	if taken != nil {
		next.life, next.wire, next.resumed = taken.life, newWire(taken.life), true
		next.wire.conn, next.wire.saved = taken.conn, true
		next.lasting = taken.lasting
	} else {
		l, err := h.life(&spec, s.Life)
		if err != nil {
			return err
		}
		next.life, next.wire = l, newWire(l)
	}
	if spec.Protocol != nil {
		next.wire.framing = framings[spec.Protocol.Name()](spec.Limits.WithDefaults())
	}
	h.mu.Lock()
	h.next = next
	h.mu.Unlock()
	next.give(s)
	return nil
}

// leave returns the lives that have a process and are not gone on with. The caller must hold mu.
func (h *host) leave() []*life {
	left := h.left
	if n := h.next; n != nil && n.resumed { // its life has ended before
		h.taken = &kept{n.life, n.wire.conn, n.lasting}
	}
	if h.taken != nil {
		h.taken.close()
		left = append(left, h.taken.life)
	}
	h.left, h.taken, h.next = nil, nil, nil
	return left
}

// begun takes the starter whose process is asked for out of what is left if its life does not
// begin. It returns false for one that is not the host's any more.
func (h *host) begun(s *starter) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.next != s {
		return false
	}
	h.next = nil
	return true
}

// life returns what is kept of a new life.
func (h *host) life(spec *hostspec.Spec, number uint64) (*life, error) {
	sum, err := digest(*spec)
	if err != nil {
		return nil, err
	}
	return &life{
		Version: version, Life: number, Digest: sum, Started: h.ref.Now(), Signal: spec.Stop.Signal, Grace: spec.Stop.Grace,
		on: h.on, path: filepath.Join(h.dir, fmt.Sprint(number)+suffix),
	}, nil
}

// closed ends what was not taken back, because the host was not started before the tree has
// ended, and forgets the crashes: a supervisor that is stopped begins anew.
func (h *host) closed() {
	h.mu.Lock()
	if h.going { // what is left is the next supervisor's
		h.mu.Unlock()
		return
	}
	left := h.leave()
	h.over = true
	h.mu.Unlock()
	if h.dir == "" {
		return
	}
	h.ref.Background(func() { // ends when the shims have
		h.file <- struct{}{}
		forget(h.on, h.dir) // nothing is written any more
		<-h.file
		for _, l := range left {
			if err := end(context.Background(), h.on, l); err != nil {
				h.ref.Log().Error("a process that has outlived its supervisor is not ended", "life", l.Life, "error", err)
			}
		}
		h.tidy()
	})
}

// tidy removes the folder of a host that is closed, once it is empty.
func (h *host) tidy() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		_ = h.on.RemoveFile(h.dir)
		_ = h.on.RemoveFile(filepath.Dir(h.dir)) // of the last host
	}
}

// releaseWait bounds how long the processes of a life may take to end after SIGKILL.
const releaseWait = lifecycle.KillWait

// end ends the process of a life, as its host is stopped, and removes what is kept of it.
func end(ctx context.Context, on Machine, l *life) error {
	conn, err := connect(on, l.shim())
	switch {
	case errors.Is(err, shim.ErrGone):
	case errors.Is(err, shim.ErrNotReady): // it is ending
	case err != nil:
		return err
	default:
		stop(ctx, conn, l)
		ctx, cancel := context.WithTimeout(context.Background(), releaseWait)
		defer cancel()
		if err := conn.Release(ctx); err != nil {
			return err
		}
	}
	if err := removed(on, l.shim()); err != nil {
		return err
	}
	if err := l.remove(); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// stop asks the command to end, and waits for that as long as its host gives it.
func stop(ctx context.Context, conn Conn, l *life) {
	if l.Signal == 0 || conn.CloseInput() != nil || conn.Signal(l.Signal) != nil {
		return
	}
	grace := time.NewTimer(l.Grace)
	defer grace.Stop()
	select {
	case <-conn.Exited():
	case <-conn.Lost():
	case <-grace.C:
	case <-ctx.Done():
	}
}
