package attach

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/supervisor"
)

// Sharing says which programs share an instance of a host.
type Sharing string

// The ways of sharing.
const (
	Shared    Sharing = ""       // there are no instances: all programs share the host
	PerRoot   Sharing = "root"   // those that work in the same folders
	PerClient Sharing = "client" // none: the instance ends with its program
	PerKey    Sharing = "key"    // those that give the same key, see [WithKey]: the host is a template
)

// DefaultInstances is how many instances of a host there are at most, unless
// [Rule].MaxInstances says otherwise.
const DefaultInstances = 8

// Root stands for the folder that the programs of an instance work in, in the Command, Dir,
// Env and Sandbox of the host's spec. It is an absolute path, so that such a spec is valid.
const Root = "/${root}"

// ErrInstances means that no instance of a host can be made for a program, or that the
// program asks for an instance that others have.
var ErrInstances = errors.New("no instance for this program")

// dirKey is that of WithDir.
type dirKey struct{}

// WithDir returns a context for [supervisor.Supervisor.Attach] that tells in which folder the
// program works: an absolute path. A language client tells that itself, by its initialize, and an
// MCP client without it is asked for its roots.
func WithDir(ctx context.Context, dir string) context.Context {
	return context.WithValue(ctx, dirKey{}, dir)
}

// instances are those of one host, which does not run itself.
type instances struct {
	hubs *hubs
	of   *supervisor.Host
	ctx  context.Context // ends with the tree, or when the host is removed
	end  context.CancelFunc
	work sync.WaitGroup

	changing chan struct{} // has room for one token, which is held while hosts are added, replaced or removed

	mu    sync.Mutex
	pool  pool
	made  map[int]*made // the instances, by number
	timer *time.Timer   // until an instance is removed
}

// want says which instance a program is to have.
type want struct {
	key  string            // programs with the same one share an instance; "": it is for one program
	root string            // folder that the program works in
	id   string            // key as the program has given it; "" if the host is not a template
	vars map[string]string // of a template
}

// made is an instance that there is, or that is about to be.
type made struct {
	name    string // of its host
	want    want
	added   bool   // its host was added to the tree
	release func() // has its values shown again
}

func newInstances(h *hubs, of *supervisor.Host) *instances {
	i := &instances{hubs: h, of: of, changing: make(chan struct{}, 1), made: map[int]*made{}}
	i.ctx, i.end = context.WithCancel(context.Background())
	return i
}

// name returns the name of a new instance.
func (i *instances) name(number int, w want) string {
	if w.id != "" {
		return i.of.Name() + "@" + w.suffix()
	}
	return i.of.Name() + "@" + strconv.Itoa(number)
}

// number returns that of the instance of a name, -1 without one. The caller must hold mu.
func (i *instances) number(name string) int {
	for n, m := range i.made {
		if m.name == name {
			return n
		}
	}
	return -1
}

// rule returns that of the host.
func (i *instances) rule() Rule { return RuleOf(i.of.Spec()) }

// idleStop returns how long an instance stays without programs; 0: for ever.
func (i *instances) idleStop() time.Duration {
	rule := i.rule()
	if rule.Instances == Shared {
		return cmp.Or(rule.IdleStop, generationIdle)
	}
	return rule.IdleStop
}

// attach lets a program speak to the instance of a name, or with "" to the one that it is to
// have.
func (i *instances) attach(ctx context.Context, name string, rw io.ReadWriteCloser) error {
	w, rw, err := i.meet(ctx, rw)
	if err != nil {
		_ = rw.Close()
		return err
	}
	host, number, err := i.join(ctx, name, w)
	if err != nil {
		_ = rw.Close()
		return err
	}
	defer i.left(number)
	hub, err := i.hubs.hub(host)
	if err != nil {
		_ = rw.Close()
		return err
	}
	return i.hubs.serve(ctx, i.of, hub, w, rw)
}

// meet finds out where a program works, or which key it has. The stream that it returns
// begins as rw did.
func (i *instances) meet(ctx context.Context, rw io.ReadWriteCloser) (w want, _ io.ReadWriteCloser, err error) {
	spec := i.of.Spec()
	if rule := RuleOf(spec); rule.Instances == PerKey {
		w, err = rule.wanted(ctx, spec.Name)
		return w, rw, err
	}
	w.root, _ = ctx.Value(dirKey{}).(string)
	if w.root == "" && spec.Protocol.Name() == "jsonrpc-lines" {
		if w.root, rw, err = rootOf(ctx, spec, rw); err != nil {
			return want{}, rw, err
		}
	}
	w.key = "dir " + w.root
	if spec.Protocol.Name() == "jsonrpc-headers" {
		var first codec.Message
		if first, rw, err = peek(ctx, spec, rw); err != nil {
			return w, rw, err
		}
		list := folders(first.Params) // none if it is not initialize, which is answered by an error then
		w.root, w.key = "", "folders "+strings.Join(list, "\n")
		if len(list) > 0 {
			if w.root, err = folderOf(list[0]); err != nil {
				return w, rw, fmt.Errorf("%w: %w", ErrClient, err)
			}
		}
	}
	if RuleOf(spec).Instances == PerClient {
		w.key = ""
	}
	return w, rw, nil
}

// folderOf returns the path of a URI of a folder.
func folderOf(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return "", fmt.Errorf("workspace folder %q is not a file: URI of this machine", uri)
	}
	return filepath.FromSlash(u.Path), nil
}

// peek reads the first message of a program. The stream that it returns has it still.
func peek(ctx context.Context, spec supervisor.HostSpec, rw io.ReadWriteCloser) (codec.Message, io.ReadWriteCloser, error) {
	stop := context.AfterFunc(ctx, func() { _ = rw.Close() })
	defer stop()
	session := spec.Protocol.Open(spec.Limits)
	if f := session.Features(); f.OnNoise != nil {
		f.OnNoise(func([]byte) {})
	}
	var read bytes.Buffer
	var m codec.Message
	if err := session.NewReader(io.TeeReader(rw, &read)).Next(&m); err != nil {
		var frame *codec.FrameError
		switch {
		case ctx.Err() != nil:
			return m, rw, context.Cause(ctx)
		case errors.As(err, &frame):
			return m, rw, fmt.Errorf("%w: %w", ErrClient, err)
		case errors.Is(err, io.EOF):
			return m, rw, fmt.Errorf("%w: it has left without a message", ErrClient)
		}
		return m, rw, err
	}
	if m.Kind != codec.Request || m.Method != "initialize" {
		m.Params = nil
	}
	return m, begun{io.MultiReader(&read, rw), rw}, nil
}

// begun is a stream of which something was read already.
type begun struct {
	io.Reader
	io.WriteCloser
}

// TryWrite writes to the stream without waiting if that can be.
func (b begun) TryWrite(p []byte) (int, error) {
	if w, ok := b.WriteCloser.(tryWriter); ok {
		return w.TryWrite(p)
	}
	return 0, nil
}

// join gives a program the instance of a name, or with "" the one that it wants, which is
// made if it is not there. left must be called when the program has left.
func (i *instances) join(ctx context.Context, name string, w want) (*supervisor.Host, int, error) {
	if err := i.change(ctx); err != nil {
		return nil, 0, err
	}
	defer i.changed()
	if now, err := i.hubs.sup.Host(i.of.Name()); err != nil || now != i.of {
		return nil, 0, cmp.Or(err, fmt.Errorf("%w: %q", supervisor.ErrNoHost, i.of.Name()))
	}
	spec, err := i.spec(w) // before another one goes for it
	if err != nil {
		return nil, 0, err
	}
	limit := cmp.Or(i.rule().MaxInstances, DefaultInstances)
	var c choice
	var m, evicted *made
	i.mu.Lock()
	if n := i.number(name); name == "" {
		c = i.pool.join(w.key, limit)
	} else if i.pool.enter(n, w.key) {
		c.number = n
	}
	if c.evict != 0 {
		evicted = i.made[c.evict]
		delete(i.made, c.evict)
	}
	if c.made {
		i.made[c.number] = &made{name: i.name(c.number, w), want: w, release: func() {}}
	}
	m = i.made[c.number]
	i.mu.Unlock()
	switch {
	case c.number == 0 && name != "":
		return nil, 0, fmt.Errorf("%w: %s is one for other programs; attach to %s", ErrInstances, name, i.of.Name())
	case c.number == 0:
		return nil, 0, fmt.Errorf("%w: host %q has %d instances, and programs are attached to all of them; detach one, or raise attach { max_instances }", ErrInstances, i.of.Name(), limit)
	}
	whole := context.WithoutCancel(ctx) // what is begun is known to the pool
	if evicted != nil {
		err = i.hubs.sup.Remove(whole, evicted.name)
		evicted.release()
	}
	var host *supervisor.Host
	switch {
	case err != nil && !errors.Is(err, supervisor.ErrNoHost):
	case c.made:
		m.release = i.hold(w)
		host, err = i.hubs.sup.Add(whole, i.of.Group(), i.named(spec, m))
		i.mu.Lock()
		m.added = true
		i.mu.Unlock()
	default:
		host, err = i.hubs.sup.Host(m.name)
		if err == nil && (w.id != "" || usageOf(i.of.Ref()) == nil) { // else sync has done it
			err = i.renew(whole, m, w)
		}
	}
	if err == nil {
		return host, c.number, nil
	}
	if host != nil && c.made { // a part of the tree objects to it
		err = errors.Join(err, i.hubs.sup.Remove(whole, m.name))
	}
	i.left(c.number)
	if host == nil {
		i.mu.Lock()
		i.drop(c.number)
		i.mu.Unlock()
	}
	return nil, 0, err
}

// renew gives an instance what the host is configured to be now, and what its programs want
// now. The caller must hold changing.
func (i *instances) renew(ctx context.Context, m *made, w want) error {
	spec, err := i.spec(w)
	if err != nil {
		return err
	}
	release := i.hold(w)
	next := *m
	next.want = w
	if err = i.hubs.sup.Replace(ctx, i.named(spec, &next)); err != nil {
		release()
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	m.release()
	m.want, m.release = w, release
	return nil
}

// change waits until no host is being added, replaced or removed.
func (i *instances) change(ctx context.Context) error {
	select {
	case i.changing <- struct{}{}:
		if i.ctx.Err() == nil {
			return nil
		}
		i.changed()
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-i.ctx.Done():
	}
	return fmt.Errorf("%w: %q", supervisor.ErrNoHost, i.of.Name())
}

func (i *instances) changed() { <-i.changing }

// left follows a program that has left an instance.
func (i *instances) left(number int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.pool.leave(number, time.Now())
	i.arm()
}

// arm sets the timer. The caller must hold mu.
func (i *instances) arm() {
	if i.timer != nil {
		i.timer.Stop()
	}
	if next := i.pool.next(i.idleStop()); !next.IsZero() && i.ctx.Err() == nil {
		i.timer = time.AfterFunc(max(0, time.Until(next)), func() { i.do(i.expire) })
	}
}

// do calls f unless the instances are closed. close waits for it.
func (i *instances) do(f func()) {
	i.mu.Lock()
	if i.ctx.Err() != nil {
		i.mu.Unlock()
		return
	}
	i.work.Add(1)
	i.mu.Unlock()
	defer i.work.Done()
	f()
}

// expire removes the instances that have been without programs for IdleStop.
func (i *instances) expire() {
	if i.change(i.ctx) != nil {
		return
	}
	defer i.changed()
	i.mu.Lock()
	var gone []string
	for _, n := range i.pool.expire(time.Now(), i.idleStop(), func(number int) bool {
		host, err := i.hubs.sup.Host(i.made[number].name)
		return err == nil && host.Peek().Pending > 0
	}) {
		gone = append(gone, i.made[n].name)
	}
	i.arm()
	i.mu.Unlock()
	for _, name := range gone {
		i.remove(name)
	}
}

// remove removes an instance.
func (i *instances) remove(name string) {
	err := i.hubs.sup.Remove(i.ctx, name)
	if err != nil && !errors.Is(err, supervisor.ErrNoHost) && i.ctx.Err() == nil {
		i.hubs.log.Warn("an instance that nobody uses cannot be removed", "host", name, "error", err)
	}
}

// retire has an instance removed when the programs that it has have left. It gets no other.
func (i *instances) retire(number int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.pool.retire(number)
}

// has reports whether there is an instance of a key.
func (i *instances) has(key string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.pool.has(key)
}

// forget follows an instance that was removed.
func (i *instances) forget(name string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if n := i.number(name); n > 0 && i.made[n].added { // else it is one of the same name that is yet to come
		i.drop(n)
	}
}

// drop takes out an instance. The caller must hold mu.
func (i *instances) drop(number int) {
	i.pool.forget(number)
	if m := i.made[number]; m != nil {
		m.release()
		delete(i.made, number)
	}
}

// close ends what the instances wait for. It does not remove them.
func (i *instances) close() {
	i.mu.Lock()
	i.end()
	if i.timer != nil {
		i.timer.Stop()
	}
	i.mu.Unlock()
	i.work.Wait()
}

// all returns the instances.
func (i *instances) all() (list []*made) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, n := range i.pool.numbers() {
		list = append(list, i.made[n])
	}
	return list
}

// sync gives the instances what the host is configured to be now. It removes them if the host
// has become a template or stopped being one, and if a template's variables have changed.
func (i *instances) sync() {
	if i.change(i.ctx) != nil {
		return
	}
	defer i.changed()
	template := i.rule().Instances == PerKey
	for _, m := range i.all() {
		if _, err := i.hubs.sup.Host(m.name); err != nil {
			continue
		}
		if (m.want.id != "") != template {
			i.remove(m.name)
			continue
		}
		err := i.renew(i.ctx, m, m.want)
		switch {
		case err == nil || i.ctx.Err() != nil:
		case errors.Is(err, ErrKey):
			i.hubs.log.Warn("an instance goes that does not fit its template any more", "host", m.name, "error", err)
			i.remove(m.name)
		default:
			i.hubs.log.Error("an instance keeps its old configuration", "host", m.name, "error", err)
		}
	}
}
