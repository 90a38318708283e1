package server

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/execserver/server/files"
	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/sandbox/resolve"
)

// Confined requests about files are carried out by workers: processes that are
// started like any other of the session, under the same policy. One worker serves
// all requests of a connection whose policies resolve to the same at that moment,
// and ends soon after the last of them.

const (
	// maxWorkers is how many workers one connection can have.
	maxWorkers = 8
	// workerIdle is how long a worker without work stays. Until it ends, the
	// placeholders of paths that are denied and missing stay in their folders.
	workerIdle = 250 * time.Millisecond
	// maxComplaint is how much of a worker's stderr is logged.
	maxComplaint = 4 << 10
)

// pool is the workers of one connection.
type pool struct {
	c *conn

	mu      sync.Mutex
	closed  bool
	workers []*worker
	handles map[string]*worker // by the client's name of an open file
	ending  sync.WaitGroup
}

// worker is one confined process that serves files.
type worker struct {
	bound  bound
	child  *sandbox.Child
	remote *files.Remote

	// Under the lock of the pool:
	uses  int // requests under way, and open files
	timer *time.Timer
}

// bound is what a policy resolves to at one moment.
type bound struct {
	resolved *policy.Resolved
	text     string        // of the resolved policy
	files    []fs.FileInfo // the files at its paths; nil where there is no file
}

func boundOf(p *policy.Policy, l policy.Limits) (bound, error) {
	r, err := resolve.Policy(p, l)
	if err != nil {
		return bound{}, err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return bound{}, err
	}
	b := bound{resolved: r, text: string(text)}
	look := func(path string) {
		info, err := os.Lstat(path)
		if err != nil || sys.Placeholder(path, info) {
			info = nil // nothing is there
		}
		b.files = append(b.files, info)
	}
	for _, g := range r.Grants {
		look(g.Path)
	}
	for _, d := range r.Denied {
		look(d.Path)
	}
	return b, nil
}

// equal reports whether two bounds are the same, down to the identity of the files
// and folders.
func (b *bound) equal(other *bound) bool {
	return b.text == other.text && slices.EqualFunc(b.files, other.files, func(x, y fs.FileInfo) bool {
		return x == nil && y == nil || x != nil && y != nil && os.SameFile(x, y)
	})
}

// forFiles is the policy of a worker for the processes of p. It reaches no
// network. The bounded folder of p is each process's own, so that there is
// nothing in it for others to see.
func forFiles(p *policy.Policy) *policy.Policy {
	q := *p
	q.Network, q.Allow = policy.NetworkNone, nil
	if q.Work.Path != "" {
		q.Deny = append(slices.Clone(q.Deny), escapeGlob(q.Work.Path))
		q.Work = policy.Work{}
	}
	if q.Within != nil {
		q.Within = forFiles(q.Within)
	}
	return &q
}

// private reports whether a path is in the private /tmp of a process, where a file
// would be invisible to all others.
func (b *bound) private(path string) bool {
	return b.resolved.PrivateTmp && below(filepath.Clean(path), "/tmp") && resolve.Access(b.resolved, path) == 0
}

// do carries out a confined request in its turn.
func (p *pool) do(method string, q *files.Request, params []byte) (json.RawMessage, *wire.Error) {
	if w := p.holder(q.Handle); w != nil {
		return p.onHandle(w, method, q, params)
	}
	if q.Watches {
		return json.RawMessage(`{"watching":false}`), nil
	}
	how, bad := p.c.srv.confine(q.Sandbox, nil)
	if bad != nil {
		return nil, bad
	}
	confined := forFiles(how.policy)
	b, err := boundOf(confined, p.limits())
	if err != nil {
		return nil, unenforced(err)
	}
	for _, u := range q.Writes {
		if path, bad := u.Native(); bad == nil && b.private(path) {
			return nil, wire.OSError(syscall.EROFS)
		}
	}
	w, bad := p.take(confined, &b)
	if bad != nil {
		return nil, bad
	}
	res, bad := w.remote.Do(p.c.ctx, method, p.c.ext, params)
	p.mu.Lock()
	defer p.mu.Unlock()
	if q.Opens && bad == nil {
		p.handles[q.Handle] = w // which counts as a use
		return res, nil
	}
	p.leave(w)
	if bad != nil && b.readOnly(q.Writes) && bad.Message == wire.OSError(syscall.EACCES).Message {
		bad = wire.OSError(syscall.EROFS) // as root a worker runs as another user, and the kernel checks its rights first
	}
	return res, bad
}

// readOnly reports whether one of some paths is granted, but not to be written.
func (b *bound) readOnly(paths []wire.URI) bool {
	return slices.ContainsFunc(paths, func(u wire.URI) bool {
		path, bad := u.Native()
		if bad != nil {
			return false
		}
		a := resolve.Access(b.resolved, path)
		return a.Has(policy.Read) && !a.Has(policy.Write)
	})
}

// holder is the worker in which a file is open.
func (p *pool) holder(handle string) *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.handles[handle]
}

// onHandle carries out a request about a file that is open in w.
func (p *pool) onHandle(w *worker, method string, q *files.Request, params []byte) (json.RawMessage, *wire.Error) {
	if q.Opens {
		return nil, wire.InvalidRequest("file handle `%s` already exists", q.Handle)
	}
	res, bad := w.remote.Do(p.c.ctx, method, p.c.ext, params)
	lost := bad != nil && bad.Code != wire.CodeInvalidRequest // an error of the system ends a handle
	if q.Closes || lost {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.handles[q.Handle] == w {
			delete(p.handles, q.Handle)
			p.leave(w)
		}
	}
	return res, bad
}

// limits are those of a worker. It is not one of the session's commands, but
// makes no larger files than they may.
func (p *pool) limits() policy.Limits { return policy.Limits{FileSize: p.c.srv.opt.Limits.FileSize} }

// take returns a worker that is bound by b, with one use more.
func (p *pool) take(confined *policy.Policy, b *bound) (*worker, *wire.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, wire.Internal("%s", errEnd)
	}
	for _, w := range p.workers {
		select {
		case <-w.remote.Ended():
			continue
		default:
		}
		if w.bound.equal(b) {
			w.uses++
			return w, nil
		}
	}
	if len(p.workers) >= maxWorkers {
		i := slices.IndexFunc(p.workers, func(w *worker) bool { return w.uses == 0 })
		if i < 0 {
			return nil, wire.InvalidRequest("files of at most %d sandboxes may be used at a time", maxWorkers)
		}
		p.end(p.workers[i])
	}
	w, err := p.start(confined)
	if err != nil {
		return nil, startError(err)
	}
	w.bound, w.uses = *b, 1
	p.workers = append(p.workers, w)
	return w, nil
}

// leave gives back one use of w. The caller must hold the lock.
func (p *pool) leave(w *worker) {
	if w.uses--; w.uses > 0 || !slices.Contains(p.workers, w) {
		return
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	w.timer = time.AfterFunc(workerIdle, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if w.uses == 0 && slices.Contains(p.workers, w) {
			p.end(w)
		}
	})
}

// end ends w, without waiting for that. The caller must hold the lock.
func (p *pool) end(w *worker) {
	p.workers = slices.DeleteFunc(p.workers, func(o *worker) bool { return o == w })
	if w.timer != nil {
		w.timer.Stop()
	}
	p.ending.Go(func() {
		w.remote.Close()
		_ = w.child.KillTree() // its exit tells what came of it
		<-w.child.Done()
		w.child.Release()
	})
}

// close ends all workers and waits until they have ended.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	for _, w := range slices.Clone(p.workers) {
		p.end(w)
	}
	p.mu.Unlock()
	p.ending.Wait()
}

// start starts a worker. The caller must hold the lock.
func (p *pool) start(confined *policy.Policy) (*worker, error) {
	s := p.c.srv
	l, err := s.launch()
	if err != nil {
		return nil, err
	}
	ours, theirs, err := sys.SocketPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	errs, complaints, err := os.Pipe()
	if err != nil {
		ours.Close()
		return nil, err
	}
	defer complaints.Close()
	child, err := l.Start(&sandbox.Command{
		Name: "exec.files." + p.c.session.id[:8], Self: true, Args: []string{files.WorkerName},
		Files: []*os.File{nil, nil, complaints, theirs}, Policy: confined, Limits: p.limits(),
	})
	if err != nil {
		ours.Close()
		errs.Close()
		return nil, err
	}
	p.ending.Go(func() {
		defer errs.Close()
		text, _ := io.ReadAll(io.LimitReader(errs, maxComplaint)) // what came before an error counts
		if len(text) > 0 {
			s.opt.Log.Error("a confined process that serves files complained", "session", p.c.session.id, "stderr", strings.TrimSpace(string(text)))
		}
	})
	return &worker{child: child, remote: files.NewRemote(ours)}, nil
}

// escapeGlob returns a pattern that matches path alone.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
