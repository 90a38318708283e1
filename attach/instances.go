package attach

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
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
	roots map[int]string // folders of the programs of instances, by number
	timer *time.Timer    // until an instance is removed
}

func newInstances(h *hubs, of *supervisor.Host) *instances {
	i := &instances{hubs: h, of: of, changing: make(chan struct{}, 1), roots: map[int]string{}}
	i.ctx, i.end = context.WithCancel(context.Background())
	return i
}

// name returns the name of an instance.
func (i *instances) name(number int) string { return i.of.Name() + "@" + strconv.Itoa(number) }

// instanceName takes the name of an instance apart. number is 0 if it is not one.
func instanceName(name string) (of string, number int) {
	of, text, _ := strings.Cut(name, "@")
	number, _ = strconv.Atoi(text) // a name that the supervisor has made, or none
	return of, number
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

// attach lets a program speak to the instance of a number, or with 0 to the one that it is
// to have.
func (i *instances) attach(ctx context.Context, number int, rw io.ReadWriteCloser) error {
	key, root, rw, err := i.meet(ctx, rw)
	if err != nil {
		_ = rw.Close()
		return err
	}
	host, number, err := i.join(ctx, number, key, root)
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
	return i.hubs.serve(ctx, i.of, hub, key, root, rw)
}

// meet finds out where a program works. The stream that it returns begins as rw did.
func (i *instances) meet(ctx context.Context, rw io.ReadWriteCloser) (key, root string, _ io.ReadWriteCloser, err error) {
	spec := i.of.Spec()
	root, _ = ctx.Value(dirKey{}).(string)
	if root == "" && spec.Protocol.Name() == "jsonrpc-lines" {
		if root, rw, err = rootOf(ctx, spec, rw); err != nil {
			return "", "", rw, err
		}
	}
	key = "dir " + root
	if spec.Protocol.Name() == "jsonrpc-headers" {
		var first codec.Message
		if first, rw, err = peek(ctx, spec, rw); err != nil {
			return "", "", rw, err
		}
		list := folders(first.Params) // none if it is not initialize, which is answered by an error then
		root, key = "", "folders "+strings.Join(list, "\n")
		if len(list) > 0 {
			if root, err = folderOf(list[0]); err != nil {
				return "", "", rw, fmt.Errorf("%w: %w", ErrClient, err)
			}
		}
	}
	if RuleOf(spec).Instances == PerClient {
		key = ""
	}
	return key, root, rw, nil
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

// join gives a program its instance, which is made if it is not there. left must be called
// when the program has left.
func (i *instances) join(ctx context.Context, number int, key, root string) (*supervisor.Host, int, error) {
	if err := i.change(ctx); err != nil {
		return nil, 0, err
	}
	defer i.changed()
	rule := i.rule()
	if number != 0 {
		i.mu.Lock()
		entered := i.pool.enter(number, key)
		i.mu.Unlock()
		if !entered {
			return nil, 0, fmt.Errorf("%w: %s is one for other programs; attach to %s", ErrInstances, i.name(number), i.of.Name())
		}
		host, err := i.hubs.sup.Host(i.name(number))
		if err != nil {
			i.left(number)
		}
		return host, number, err
	}
	spec, err := within(i.of.Spec(), root) // before another one goes for it
	if err != nil {
		return nil, 0, err
	}
	limit := rule.MaxInstances
	if limit == 0 {
		limit = DefaultInstances
	}
	i.mu.Lock()
	c := i.pool.join(key, limit)
	if c.made {
		i.roots[c.number] = root
	}
	i.mu.Unlock()
	if c.number == 0 {
		return nil, 0, fmt.Errorf("%w: host %q has %d instances, and programs are attached to all of them; detach one, or raise attach { max_instances }", ErrInstances, i.of.Name(), limit)
	}
	if c.evict != 0 {
		err = i.hubs.sup.Remove(ctx, i.name(c.evict))
	}
	var host *supervisor.Host
	switch {
	case err != nil && !errors.Is(err, supervisor.ErrNoHost):
	case c.made:
		host, err = i.hubs.sup.Add(ctx, i.of.Group(), i.named(spec, c.number))
	default:
		host, err = i.hubs.sup.Host(i.name(c.number))
		if err == nil && usageOf(i.of.Ref()) == nil { // else sync has done it
			err = i.hubs.sup.Replace(ctx, i.named(spec, c.number))
		}
	}
	if err != nil {
		if host != nil { // it was added, and a part of the tree objects to it
			err = errors.Join(err, i.hubs.sup.Remove(i.ctx, host.Name()))
		}
		i.left(c.number)
		i.forget(c.number)
		return nil, 0, err
	}
	return host, c.number, nil
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
	gone := i.pool.expire(time.Now(), i.idleStop(), func(number int) bool {
		host, err := i.hubs.sup.Host(i.name(number))
		return err == nil && host.Peek().Pending > 0
	})
	i.arm()
	i.mu.Unlock()
	i.remove(gone)
}

func (i *instances) remove(numbers []int) {
	for _, n := range numbers {
		err := i.hubs.sup.Remove(i.ctx, i.name(n))
		if err != nil && !errors.Is(err, supervisor.ErrNoHost) && i.ctx.Err() == nil {
			i.hubs.log.Warn("an instance that nobody uses cannot be removed", "host", i.name(n), "error", err)
		}
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

// forget follows an instance that somebody has removed.
func (i *instances) forget(number int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.pool.forget(number)
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

// numbers returns those of all instances.
func (i *instances) numbers() []int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.pool.numbers()
}

// named makes of the spec of the host that of an instance.
func (i *instances) named(spec supervisor.HostSpec, number int) supervisor.HostSpec {
	spec.Name, spec.InstanceOf = i.name(number), ""
	spec.Features = slices.Clone(spec.Features)
	for n, f := range spec.Features {
		if r, is := f.(Rule); is {
			spec.Features[n] = Rule{Isolate: r.Isolate, Silent: r.Silent}
		}
	}
	return spec
}

// within puts a folder in the place of [Root].
func within(spec supervisor.HostSpec, root string) (supervisor.HostSpec, error) {
	uses := false
	in := func(text string) string {
		if !strings.Contains(text, Root) {
			return text
		}
		uses = true
		return strings.ReplaceAll(text, Root, strings.TrimSuffix(root, "/"))
	}
	all := func(list []string) []string {
		list = slices.Clone(list)
		for i := range list {
			list[i] = in(list[i])
		}
		return list
	}
	spec.Command, spec.Dir = all(spec.Command), in(spec.Dir)
	env := make(map[string]string, len(spec.Env))
	for name, value := range spec.Env {
		env[name] = in(value)
	}
	spec.Env = env
	if spec.Sandbox != nil {
		p := *spec.Sandbox
		p.Read, p.Exec, p.Write, p.Deny, p.Work.Path = all(p.Read), all(p.Exec), all(p.Write), all(p.Deny), in(p.Work.Path)
		spec.Sandbox = &p
	}
	if !uses {
		return spec, nil
	}
	if root == "" {
		return spec, fmt.Errorf("%w: the configuration of host %q uses the folder that the program works in, and the program has named none", ErrInstances, spec.Name)
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() || !filepath.IsAbs(root) || filepath.Clean(root) != strings.TrimSuffix(root, "/") {
		return spec, fmt.Errorf("%w: the folder that the program works in, %q, is not the whole path of a folder", ErrInstances, root)
	}
	return spec, nil
}

// sync gives the instances what the host is configured to be now.
func (i *instances) sync() {
	if i.change(i.ctx) != nil {
		return
	}
	defer i.changed()
	i.mu.Lock()
	roots := maps.Clone(i.roots)
	i.mu.Unlock()
	for _, n := range i.numbers() {
		host, err := i.hubs.sup.Host(i.name(n))
		if err != nil {
			continue
		}
		var spec supervisor.HostSpec
		if spec, err = within(i.of.Spec(), roots[n]); err == nil {
			err = i.hubs.sup.Replace(i.ctx, i.named(spec, n))
		}
		if err != nil {
			i.hubs.log.Error("an instance keeps its old configuration", "host", host.Name(), "error", err)
		}
	}
}
