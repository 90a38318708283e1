package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/supervisor"
)

// loader loads the file of a running supervisor again. It implements
// [control.Configuration]. One that is loaded is planned and applied whole; one that is not
// valid changes nothing but the status.
type loader struct {
	path   string            // absolute
	vars   map[string]string // as at the start
	socket string            // --socket
	given  string            // address of a socket of the service manager's; "" without one
	sup    *supervisor.Supervisor
	log    *ownLog

	console config.Console // as at the start
	traces  *config.Traces // as at the start
	crashes config.CrashReports
	serves  []config.Serve // as at the start

	watch func(files []string) // watches files besides the main one; may be nil
	files []string             // that are watched; whose turn it is has them

	turn chan struct{} // full while the tree is changed

	mu     sync.Mutex // for what follows
	conf   config.Log
	status supervisor.ConfigStatus
	added  []supervisor.GroupSpec // of hosts that were added without the file
}

var _ control.Configuration = (*loader)(nil)

// begin waits for the turn to change the tree.
func (l *loader) begin(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *loader) end() { <-l.turn }

// Status implements [control.Configuration].
func (l *loader) Status() *supervisor.ConfigStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := l.status
	st.Added = namesOf(l.added)
	return &st
}

func namesOf(groups []supervisor.GroupSpec) []string {
	names := []string{}
	for _, g := range groups {
		for _, h := range g.Hosts {
			names = append(names, h.Name)
		}
	}
	return names
}

// read reads a file. The error is a *control.Error with the diagnostics.
func (l *loader) read(path string, opts config.Options) (*config.File, error) {
	opts.Enforce, opts.Lenient = enforceable, true // as at the start
	opts.Regular = true                            // others name the file, and nobody waits for what a pipe may say
	file, diags := config.Load(path, opts)
	if file != nil {
		return file, nil
	}
	var text bytes.Buffer
	_ = config.Print(&text, diags, false, 0) // a buffer takes everything
	return nil, &control.Error{
		Class: control.InvalidConfig, Message: fmt.Sprintf("%s is not valid; nothing was changed", path), Diagnostics: text.String(),
	}
}

// next returns what the tree is to be with a file: its hosts, and those that were added by
// hand and whose names the file leaves free.
func (l *loader) next(file *config.File) (spec supervisor.Spec, added []supervisor.GroupSpec, err error) {
	if spec, err = completed(file, l.socket); err != nil {
		return spec, nil, err
	}
	if l.given != "" {
		spec.Socket = l.given
	}
	taken := map[string]bool{}
	for _, g := range spec.Groups {
		for _, h := range g.Hosts {
			taken[h.Name] = true
		}
	}
	for _, p := range spec.Parts {
		_, name := p.Identity()
		taken[name] = true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range l.added {
		hosts := g.Hosts
		g.Hosts = nil
		for _, h := range hosts {
			if !taken[h.Name] {
				g.Hosts = append(g.Hosts, h)
			}
		}
		if len(g.Hosts) > 0 {
			added = append(added, g)
		}
	}
	spec.Groups = joined(spec.Groups, added)
	return spec, added, nil
}

// joined returns groups with the hosts of others, which come last in groups that both have.
func joined(groups, others []supervisor.GroupSpec) []supervisor.GroupSpec {
	groups = slices.Clone(groups)
	for _, o := range others {
		i := slices.IndexFunc(groups, func(g supervisor.GroupSpec) bool { return g.Name == o.Name })
		if i < 0 {
			groups = append(groups, o)
			continue
		}
		groups[i].Hosts = slices.Concat(groups[i].Hosts, o.Hosts)
	}
	return groups
}

// completed returns the Spec of a file with the paths that the program decides.
func completed(file *config.File, socket string) (spec supervisor.Spec, err error) {
	spec = file.Spec
	env := config.SystemEnv()
	spec.Socket = config.SocketPath(env, socket, file.Socket)
	spec.StateDir, err = config.StateDir(env, file.StateDir)
	return spec, err
}

// ownSettings adds to a plan what the program itself reads of the file.
func (l *loader) ownSettings(p *supervisor.Plan, file *config.File) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range []struct {
		name     string
		now, new any
	}{
		{"level", l.conf.Level, file.Log.Level}, {"format", l.conf.Format, file.Log.Format}, {"to", l.conf.To, file.Log.To},
		{"file", l.conf.File, file.Log.File}, {"max_size", l.conf.MaxSize, file.Log.MaxSize}, {"files", l.conf.Files, file.Log.Files},
		{"rotate_every", l.conf.RotateEvery, file.Log.RotateEvery}, {"max_age", l.conf.MaxAge, file.Log.MaxAge},
		{"compress", l.conf.Compress, file.Log.Compress},
	} {
		if s.now != s.new {
			p.Settings = append(p.Settings, "supervisor.log."+s.name)
		}
	}
	if file.Crashes != l.crashes {
		p.NeedsStart = append(p.NeedsStart, "supervisor.crash_reports")
	}
	if !reflect.DeepEqual(file.Console, l.console) {
		p.NeedsStart = append(p.NeedsStart, "supervisor.console")
	}
	if !reflect.DeepEqual(file.Serves, l.serves) {
		p.NeedsStart = append(p.NeedsStart, "serve")
	}
	if !reflect.DeepEqual(file.Traces, l.traces) {
		p.NeedsStart = append(p.NeedsStart, "supervisor.traces")
	}
}

// Plan implements [control.Configuration].
func (l *loader) Plan(ctx context.Context, path string, vars map[string]string) (*control.Applied, error) {
	if path == "" {
		path, vars = l.path, l.vars
	}
	file, err := l.read(path, config.Options{Vars: vars})
	if err != nil {
		return nil, err
	}
	spec, added, err := l.next(file)
	if err != nil {
		return nil, err
	}
	plan, err := supervisor.PlanFor(ctx, l.sup, spec)
	if err != nil {
		return nil, refusal(path, err)
	}
	l.ownSettings(&plan, file)
	return l.applied(path, plan, added, nil), nil
}

// Reload implements [control.Configuration].
func (l *loader) Reload(ctx context.Context) (*control.Applied, error) {
	if err := l.begin(ctx); err != nil {
		return nil, err
	}
	defer l.end()
	l.log.reopen() // also if the configuration is refused: files may have been moved
	l.sup.ReopenLogs()
	// When the caller has gone, the rest is applied all the same.
	out, err := l.reload(context.WithoutCancel(ctx))
	if err == nil {
		return out, nil
	}
	if errors.Is(err, supervisor.ErrClosed) { // that says nothing about the file
		return nil, err
	}
	text := err.Error()
	var e *control.Error
	if errors.As(err, &e) && e.Diagnostics != "" {
		text = strings.TrimSpace(e.Diagnostics)
	}
	l.mu.Lock()
	l.status.Refused = &supervisor.ConfigRefusal{At: time.Now(), Reason: text}
	l.mu.Unlock()
	l.log.Error("the configuration was refused; going on with the one in force", "file", l.path, "reason", text)
	first, _, _ := strings.Cut(text, "\n")
	l.sup.Note("the configuration was refused: " + first)
	return nil, err
}

func (l *loader) reload(ctx context.Context) (*control.Applied, error) {
	var files []string
	file, err := l.read(l.path, config.Options{Vars: l.vars, OnFile: func(p string) { files = append(files, p) }})
	if l.watch != nil {
		if err != nil { // it may not have come to those of the last time
			files = append(files, l.files...)
			slices.Sort(files)
			files = slices.Compact(files)
		}
		l.files = files
		l.watch(files)
	}
	if err != nil {
		return nil, err
	}
	spec, added, err := l.next(file)
	if err != nil {
		return nil, err
	}
	plan, err := supervisor.Apply(ctx, l.sup, spec)
	if errors.Is(err, supervisor.ErrClosed) {
		return nil, err
	}
	if len(plan.Hosts) == 0 && err != nil { // nothing was applied
		return nil, refusal(l.path, err)
	}
	l.ownSettings(&plan, file)
	l.log.setHosts(l.sup.Hosts())
	logErr := l.log.configure(file.Log)
	l.mu.Lock()
	if logErr == nil {
		l.conf = file.Log
	}
	l.status.Loaded, l.status.Refused, l.added = time.Now(), nil, added
	l.mu.Unlock()
	out := l.applied(l.path, plan, added, errors.Join(err, logErr))
	l.log.Info("the configuration was loaded", "file", l.path, "unchanged", plan.Count(supervisor.ActionNone), "changed", len(plan.Hosts)-plan.Count(supervisor.ActionNone))
	for _, e := range out.Errors {
		l.log.Error("something could not be changed", "error", e)
	}
	for _, s := range plan.NeedsStart {
		l.log.Warn("a setting that changed needs a new start of the supervisor", "setting", s)
	}
	return out, nil
}

// refusal returns the error for a file that is valid in itself, but not as a whole with what
// was added to it.
func refusal(path string, err error) error {
	if !errors.Is(err, supervisor.ErrSpec) {
		return err
	}
	return &control.Error{Class: control.InvalidConfig, Message: fmt.Sprintf("%s cannot be applied; nothing was changed", path), Diagnostics: err.Error() + "\n"}
}

func (l *loader) applied(path string, plan supervisor.Plan, added []supervisor.GroupSpec, err error) *control.Applied {
	out := &control.Applied{Config: path, Plan: plan, Added: namesOf(added), Errors: []string{}}
	if err != nil {
		out.Errors = strings.Split(err.Error(), "\n")
	}
	return out
}

// Add implements [control.Configuration].
func (l *loader) Add(ctx context.Context, path string, vars map[string]string) (*control.Applied, error) {
	if !filepath.IsAbs(path) {
		return nil, &control.Error{Class: control.Invalid, Message: fmt.Sprintf("%q is not an absolute path", path)}
	}
	file, err := l.read(path, config.Options{Vars: vars, HostsOnly: true})
	if err != nil {
		return nil, err
	}
	if err := l.begin(ctx); err != nil {
		return nil, err
	}
	defer l.end()
	whole := context.WithoutCancel(ctx)
	now, err := supervisor.Present(whole, l.sup)
	if err != nil {
		return nil, err
	}
	for _, name := range namesOf(file.Spec.Groups) {
		if slices.Contains(namesOf(now.Groups), name) {
			return nil, fmt.Errorf("%w: %q; nothing was added", supervisor.ErrNameTaken, name)
		}
	}
	if n := len(namesOf(now.Groups)) + len(namesOf(file.Spec.Groups)); n > config.MaxHosts {
		return nil, &control.Error{Class: control.InvalidConfig, Message: fmt.Sprintf("with %s there would be %d hosts; a supervisor has at most %d; nothing was added", path, n, config.MaxHosts)}
	}
	now.Groups = joined(now.Groups, file.Spec.Groups)
	plan, err := supervisor.Apply(whole, l.sup, now)
	if len(plan.Hosts) == 0 && err != nil {
		return nil, refusal(path, err)
	}
	l.log.setHosts(l.sup.Hosts())
	l.mu.Lock()
	l.added = joined(l.added, file.Spec.Groups)
	l.mu.Unlock()
	return l.applied(path, plan, file.Spec.Groups, err), nil
}

// Remove implements [control.Configuration].
func (l *loader) Remove(ctx context.Context, host string) (*control.Applied, error) {
	if err := l.begin(ctx); err != nil {
		return nil, err
	}
	defer l.end()
	h, err := l.sup.Host(host)
	if err != nil {
		return nil, err
	}
	now, err := supervisor.Present(ctx, l.sup)
	if err != nil {
		return nil, err
	}
	for _, g := range now.Groups {
		for _, other := range g.Hosts {
			if slices.Contains(other.Start.DependsOn, host) {
				return nil, &control.Error{Class: control.Invalid, Host: host, Message: fmt.Sprintf("host %q is needed by %q: remove that first", host, other.Name)}
			}
		}
	}
	if err := l.sup.Remove(context.WithoutCancel(ctx), host); err != nil {
		return nil, err
	}
	l.mu.Lock()
	for i := range l.added {
		l.added[i].Hosts = slices.DeleteFunc(slices.Clone(l.added[i].Hosts), func(h supervisor.HostSpec) bool { return h.Name == host })
	}
	l.mu.Unlock()
	plan := supervisor.Plan{
		Hosts:  []supervisor.HostChange{{Host: host, Group: h.Group(), Action: supervisor.ActionRemove}},
		Groups: []supervisor.GroupChange{}, Settings: []string{}, NeedsStart: []string{},
	}
	return l.applied(l.path, plan, nil, nil), nil
}
