//go:build !hostsup_posix

package grants

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// generator makes a case from a seed.
type generator struct {
	*rand.Rand
	root    bool // who runs it can mount and change owners
	level   policy.Level
	folders []string
	files   []string
	links   []string
	all     []string
	named   []string // in policies
}

// names are few, so that paths of the tree, the policies and the steps meet.
var names = []string{"a", "b", "c", "k", ".env"}

// generate makes the case of a seed for who runs it, at a level.
func generate(seed uint64, root bool, level policy.Level) *testCase {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 7)), root: root, level: level}
	c := &testCase{seed: seed, tree: g.tree()}
	for i := range c.policies {
		c.policies[i] = g.rules()
	}
	for i := range c.policies {
		for _, l := range c.policies[i].lists() {
			for _, path := range *l.list {
				g.named = append(g.named, strings.TrimPrefix(path, "-"))
			}
		}
	}
	for range 2 + g.IntN(3) {
		c.lives = append(c.lives, g.life())
	}
	return c
}

func pick[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

// one is a random index of weights, each as likely as its weight.
func (g *generator) one(weights ...int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	n := g.IntN(sum)
	for i, w := range weights {
		if n -= w; n < 0 {
			return i
		}
	}
	return 0
}

func (g *generator) percent(n int) bool { return g.IntN(100) < n }

// The folder that no policy grants, with a file. Anybody could write both: only
// the confinement keeps them.
const (
	outside = "out"
	secret  = "out/secret"
)

// kept is where work folders lie that outlive a process.
const kept = "w"

func (g *generator) tree() []entry {
	tree := []entry{
		{kind: folder, path: outside, mode: 0o777}, {kind: regular, path: secret, mode: 0o666},
		{kind: folder, path: "out/a", mode: 0o777}, {kind: regular, path: "out/a/k", mode: 0o666},
	}
	g.all = []string{outside, secret, "out/a", "out/a/k"}
	add := func(e entry) {
		if slices.Contains(g.all, e.path) {
			return
		}
		if g.root {
			e.owner = g.one(60, 30, 10)
		}
		tree = append(tree, e)
		g.all = append(g.all, e.path)
		switch e.kind {
		case folder, tmpfs:
			g.folders = append(g.folders, e.path)
		case regular, hard:
			g.files = append(g.files, e.path)
		case link:
			g.links = append(g.links, e.path)
		}
	}
	add(entry{kind: folder, path: "p", mode: g.folderMode()})
	add(entry{kind: folder, path: "q", mode: g.folderMode()})
	add(entry{kind: folder, path: kept, mode: 0o755})
	mounts := 0
	if g.root && g.level != policy.Landlock {
		mounts = 4 // where there are mounts, a rule of Landlock holds for all places of a folder
	}
	for range 4 + g.IntN(12) {
		e := entry{path: filepath.Join(pick(g, g.folders), pick(g, names))}
		switch g.one(40, 25, 22, 8, mounts, mounts/2) {
		case 0:
			e.kind, e.mode = folder, g.folderMode()
		case 1:
			e.kind, e.mode = regular, []uint32{0o644, 0o600, 0o755, 0o666}[g.one(60, 10, 20, 10)]
		case 2:
			e.kind, e.text = link, g.linkText(e.path)
		case 3:
			if len(g.files) == 0 {
				continue
			}
			e.kind, e.text = hard, pick(g, g.files)
			if g.percent(10) {
				e.text = secret
			}
		case 4:
			e.kind, e.text = bind, pick(g, append(g.folders, g.files...))
			// What root mounts in a granted folder is granted: not the kept ones.
			if strings.HasPrefix(e.path, e.text+"/") || e.text == kept {
				continue
			}
		case 5:
			e.kind, e.mode = tmpfs, 0o755
		}
		add(e)
	}
	return tree
}

func (g *generator) folderMode() uint32 {
	return []uint32{0o755, 0o777, 0o1777, 0o700}[g.one(70, 10, 10, 10)]
}

// linkText is what a link at path says: it leads to a place of the tree, absolute
// or relative, out of what is granted, nowhere, or to itself.
func (g *generator) linkText(path string) string {
	to := pick(g, g.all)
	switch g.one(50, 30, 15, 5) {
	case 1:
		to = pick(g, []string{outside, secret, "out/a"})
	case 2:
		to = filepath.Join(pick(g, g.folders), pick(g, names))
	case 3:
		to = path
	}
	if g.percent(50) {
		return "@/" + to
	}
	rel, err := filepath.Rel(filepath.Dir(path), to)
	if err != nil {
		return "@/" + to
	}
	return rel
}

// place is a path for a policy or a step: one that is there, one that is not, or
// one through a link.
func (g *generator) place() string {
	switch g.one(20, 55, 15, 5, 5) {
	case 0:
		return pick(g, []string{"p", "q"})
	case 2:
		return filepath.Join(pick(g, g.folders), pick(g, names))
	case 3:
		if len(g.links) > 0 {
			return pick(g, g.links)
		}
	case 4:
		if len(g.links) > 0 {
			return filepath.Join(pick(g, g.links), pick(g, names))
		}
	}
	return pick(g, g.all[4:]) // not outside
}

func (g *generator) places(n int, dash bool) []string {
	var out []string
	for range g.IntN(n + 1) {
		s := g.place()
		if dash && g.percent(80) {
			s = "-" + s
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func (g *generator) rules() rules {
	r := rules{read: g.places(2, true), write: g.places(1, true), jit: g.percent(50)}
	if g.percent(40) {
		r.exec = g.places(1, true)
	}
	if g.percent(70) {
		r.write = append(r.write, pick(g, []string{"p", "q"}))
	}
	if g.level == policy.Landlock && g.percent(90) {
		return r // the rest is refused there
	}
	if g.percent(50) {
		r.readOnly = g.places(2, true)
	}
	if g.percent(60) {
		r.deny = g.places(2, false)
	}
	if g.percent(25) {
		r.deny = append(r.deny, pick(g, []string{"p/**/.env", "q/*/k", "p/*", "**/k", "p/a/[a-c]", "q/**/c/*", "?/b/.env", pick(g, g.all) + "/*"}))
	}
	if g.percent(15) {
		r.work = g.place()
		if r.keep = g.root && g.percent(20); r.keep {
			r.work = filepath.Join(kept, pick(g, names))
		}
	}
	return r
}

func (g *generator) life() life {
	l := life{policy: g.IntN(2), accept: g.percent(15), steps: g.steps(1 + g.IntN(4))}
	if g.percent(25) {
		l.beside = g.steps(1 + g.IntN(3))
	}
	return l
}

func (g *generator) steps(n int) []step {
	var out []step
	for range n {
		s := step{path: g.place(), to: g.place()}
		if len(g.named) > 0 && g.percent(40) {
			s.path = pick(g, g.named)
		}
		switch g.one(25, 15, 10, 30, 8, 8, 8, 6, 6, 6, 4, 15, 8) {
		case 0:
			s.do = "rename"
		case 1:
			s.do = "exchange"
		case 2:
			s.do, s.to = "link", g.linkText(s.path)
		case 3: // the attack: a link in the place of what is there
			s.do, s.to = "replace", g.linkText(s.path)
		case 4:
			s.do, s.to = "mkdir", ""
		case 5:
			s.do, s.to = "rmdir", ""
		case 6:
			s.do, s.to = "unlink", ""
		case 7:
			s.do, s.to = "create", ""
		case 8:
			s.do, s.to = "append", ""
		case 9:
			s.do = "hard"
		case 10:
			s.do, s.to = "chmod", pick(g, []string{"0700", "0777", "0000"})
		case 11: // another folder in its place
			s.do, s.to = "renew", ""
		case 12: // a file where what is named would be looked for
			s.do, s.to = "flatten", ""
		}
		out = append(out, s)
	}
	return out
}
