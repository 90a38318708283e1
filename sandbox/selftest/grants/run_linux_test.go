//go:build !hostsup_posix

package grants

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// patience bounds every wait; a case that needs it fails.
const patience = time.Minute

// runner carries out cases in a folder of its own.
type runner struct {
	dir   string
	level policy.Level // the strongest, and what the policies accept
	next  int          // number of the next ground

	starts, refusals int
}

// play is one case under way.
type play struct {
	*runner
	c        *testCase
	ground   string
	launcher *sandbox.Launcher
	known    [2]map[string]lead
	images   [2]string
	written  []string
	left     []string // placeholders that have to be gone
	pair     []*model // of two starts that are together
}

// run carries out a case. The error says what the product did that the model does
// not allow.
func (r *runner) run(c *testCase) (err error) {
	r.next++
	p := &play{runner: r, c: c, ground: filepath.Join(r.dir, fmt.Sprintf("ground-%d", r.next)), known: [2]map[string]lead{{}, {}}}
	if err := os.Mkdir(p.ground, 0o755); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, raze(p.ground)) }()
	if err := build(p.ground, c.tree, os.Getuid() == 0); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	strongest := policy.Level("")
	if r.level == policy.Landlock {
		strongest = r.level
	}
	if p.launcher, err = sandbox.NewLauncher(sandbox.Options{Strongest: strongest}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.launcher.Close()) }()
	for i := range c.lives {
		if err := p.live(&c.lives[i]); err != nil {
			return fmt.Errorf("life %d: %w", i, err)
		}
	}
	return nil
}

// model is of a start of a policy now.
func (p *play) model(policy int, accept bool, before world) *model {
	known := memory{known: p.known[policy], written: p.written}
	for _, image := range p.images {
		if image != "" {
			known.images = append(known.images, image)
		}
	}
	return newModel(p.ground, &p.c.policies[policy], p.level, os.Getuid(), known, accept, before)
}

// live starts a life, compares what it reaches, and then what it has changed.
func (p *play) live(l *life) error {
	before, err := survey(p.ground)
	if err != nil {
		return err
	}
	m := p.model(l.policy, l.accept, before)
	writes := func(path string) bool {
		return m.rule(path, true).write || m.work != "" && inside(m.work, path) || p.image(path)
	}
	if len(l.beside) > 0 {
		err = p.together(l, before)
		writes = func(path string) bool { return p.grants(path, "write") }
	} else {
		err = p.alone(l, m)
	}
	if err != nil {
		return err
	}
	for _, path := range p.left {
		if !gone(path, len(l.beside) > 0) {
			return fmt.Errorf("%s is left where something is denied", quoted(p.ground, path))
		}
	}
	p.left = nil
	after, err := survey(p.ground)
	if err != nil {
		return err
	}
	if wrong := judgeChanges(p.ground, before, after, p.level != policy.Landlock, writes); len(wrong) > 0 {
		return fmt.Errorf("changed although it could not be written: %s", strings.Join(wrong, "; "))
	}
	return nil
}

// alone is a life in a tree that nobody else changes.
func (p *play) alone(l *life, m *model) error {
	p.hold(m)
	o := &order{Paths: m.paths(), Create: m.forbidden()}
	child, err := p.start(l.policy, l.accept, o)
	p.remember(l.policy, m, err)
	if wrong := m.judgeStart(err); wrong != nil {
		if child != nil {
			child.end()
		}
		return wrong
	}
	if err != nil {
		return nil // it had to be refused
	}
	defer child.end()
	r, err := child.report()
	if err != nil {
		return err
	}
	if wrong := m.judge(r); len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	if err := child.do(doing{Steps: onGround(p.ground, l.steps)}); err != nil {
		return err
	}
	return child.wait()
}

// hold notes what stands in the places of what a policy denies and is missing: it
// has to go with the process.
func (p *play) hold(m *model) {
	for _, d := range m.denied {
		if d.missing != "" {
			p.left = append(p.left, d.missing)
		}
	}
}

// remember keeps what a start has taught the launcher.
func (p *play) remember(policyIndex int, m *model, err error) {
	if errors.Is(err, policy.ErrInvalid) {
		return
	}
	p.written = m.written
	if m.keep && m.work != "" {
		p.images[policyIndex] = m.image()
	}
	maps.Copy(p.known[policyIndex], m.leads)
}

// together is a life whose start meets changes by a process with the other policy.
// Of it no more is asked than that nothing is reached or changed which no policy
// grants.
func (p *play) together(l *life, before world) error {
	other := 1 - l.policy
	m := p.model(other, false, before)
	p.hold(m)
	first, err := p.start(other, false, &order{Paths: m.paths()})
	p.remember(other, m, err)
	if err != nil {
		return m.judgeStart(err)
	}
	defer first.end()
	r, err := first.report()
	if err != nil {
		return err
	}
	if wrong := m.judge(r); len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	mine := p.model(l.policy, l.accept, before)
	p.hold(mine)
	p.pair = []*model{m, mine}
	if err := first.do(doing{Steps: onGround(p.ground, l.beside), Repeat: true}); err != nil {
		return err
	}
	second, err := p.start(l.policy, l.accept, &order{Paths: slices.Sorted(maps.Keys(before))})
	p.remember(l.policy, mine, err)
	if !errors.Is(err, policy.ErrInvalid) {
		for _, list := range p.c.policies[l.policy].lists()[:4] {
			for _, s := range *list.list {
				rest, _ := strings.CutPrefix(s, "-")
				p.known[l.policy][filepath.Join(p.ground, rest)] = lead{unknown: true}
			}
		}
	}
	var se *sandbox.StartError
	if errors.As(err, &se) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("beside changes: %w", err)
	}
	defer second.end()
	if r, err = second.report(); err != nil {
		return err
	}
	if err := p.leaks(r, before); err != nil {
		return err
	}
	if err := second.do(doing{Steps: onGround(p.ground, l.steps)}); err != nil {
		return err
	}
	return second.wait()
}

// leaks says which files outside were reached though no policy grants them.
func (p *play) leaks(r *report, before world) error {
	kept := map[identity]string{}
	for path, o := range before {
		if inside(path, filepath.Join(p.ground, outside)) && (o.mode.IsDir() || o.names == 1) && !p.grants(path, "read", "exec", "write") {
			kept[o.id] = path
		}
	}
	for path, o := range before {
		if !inside(path, filepath.Join(p.ground, outside)) {
			delete(kept, o.id) // it is mounted elsewhere
		}
	}
	for path, v := range r.Paths {
		for _, id := range []identity{v.ID, v.Led} {
			if is, ok := kept[id]; ok && p.level != policy.Landlock && (v.Read || v.Write || v.LedRead) {
				return fmt.Errorf("%s shows %s", quoted(p.ground, path), quoted(p.ground, is))
			}
		}
	}
	return nil
}

// grants reports whether an entry of the lists, in one of the two policies, is
// path or holds it: as it is written, or where it led before the changes.
func (p *play) grants(path string, lists ...string) bool {
	for _, m := range p.pair {
		if slices.ContainsFunc(m.entries, func(e grantEntry) bool {
			return slices.Contains(lists, e.list) && (inside(path, e.path) || e.mine && inside(path, e.led.real))
		}) {
			return true
		}
		if m.work != "" && inside(m.work, path) {
			return true
		}
	}
	return p.image(path)
}

// image reports whether path holds what a work folder keeps, which the supervisor
// makes and the kernel writes, also after the end of a process.
func (p *play) image(path string) bool {
	return filepath.Dir(path) == filepath.Join(p.ground, kept) && strings.Contains(filepath.Base(path), ".image")
}

// gone waits until nothing is at path; with others also something may be there that
// no placeholder is, which another process has made.
func gone(path string, others bool) bool {
	deadline := time.Now().Add(patience)
	for delay := 100 * time.Microsecond; ; delay = min(2*delay, 20*time.Millisecond) {
		info, err := os.Lstat(path)
		if err != nil || others && (info.Mode()&fs.ModeSticky == 0 || info.Mode().Perm()&0o722 != 0o700) {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(delay) //nolint:forbidigo // polls a condition with a deadline
	}
}

// confined is a started process.
type confined struct {
	child *sandbox.Child
	in    *os.File
	out   *os.File
	json  *json.Decoder
}

func (p *play) start(policyIndex int, accept bool, o *order) (*confined, error) {
	p.starts++
	in, toChild, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	fromChild, out, err := os.Pipe()
	if err != nil {
		toChild.Close()
		return nil, err
	}
	defer out.Close()
	child, err := p.launcher.Start(&sandbox.Command{
		Name: fmt.Sprintf("host-%d.%d", policyIndex, p.starts), Owner: fmt.Sprintf("host-%d", policyIndex), Accept: accept,
		Self: true, Args: []string{"grants"}, Env: []string{roleVar + "=probe"}, Files: []*os.File{in, out, os.Stderr},
		Policy: p.c.policies[policyIndex].policy(p.ground, p.level),
	})
	if err != nil {
		fromChild.Close()
		toChild.Close()
		p.refusals++
		return nil, err
	}
	c := &confined{child: child, in: toChild, out: fromChild, json: json.NewDecoder(fromChild)}
	if got := child.Confinement().Level; !got.AtLeast(p.level) {
		c.end()
		return nil, fmt.Errorf("started at level %s", got)
	}
	if err := json.NewEncoder(toChild).Encode(o); err != nil {
		c.end()
		return nil, err
	}
	return c, nil
}

func (c *confined) do(d doing) error { return json.NewEncoder(c.in).Encode(d) }

func (c *confined) report() (*report, error) {
	var r report
	if err := c.out.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if err := c.json.Decode(&r); err != nil {
		return nil, fmt.Errorf("the confined process gives no report: %w", err)
	}
	return &r, nil
}

// wait waits until it has done its steps.
func (c *confined) wait() error {
	select {
	case <-c.child.Done():
		if e := c.child.Exit(); e.Code != 0 {
			return fmt.Errorf("the confined process ended with code %d, signal %d", e.Code, e.Signal)
		}
		return nil
	case <-time.After(patience):
		return errors.New("the confined process does not end")
	}
}

// end ends it with all that is kept for it.
func (c *confined) end() {
	_ = c.child.KillTree()
	<-c.child.Done()
	c.child.Release()
	<-c.child.Gone()
	c.in.Close()
	c.out.Close()
}
