//go:build !hostsup_posix

package grants

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// A testCase is plain data, so that it can be printed and made smaller. Paths are
// relative to the ground that it is carried out on; the text of a link, a path
// there when it begins with "@/".
type testCase struct {
	seed     uint64
	tree     []entry
	policies [2]rules // their owners are host-0 and host-1
	lives    []life
}

// entry is one file of a tree. Those that others need come first.
type entry struct {
	kind  kind
	path  string
	text  string // of a link; for hard and bind the path that is there too
	mode  uint32
	owner int // an index of owners
}

type kind string

const (
	folder  kind = "folder"
	regular kind = "file"
	link    kind = "link"
	hard    kind = "hard"  // another name of a file
	bind    kind = "bind"  // a mount of another path of the tree
	tmpfs   kind = "tmpfs" // a mount of an empty file system
)

// owners are who files belong to where root makes them.
var owners = []int{0, 61001, 61002}

// rules are what a policy says of paths.
type rules struct {
	read, exec, write, readOnly, deny []string // a dash in front grants where it exists
	jit                               bool
	work                              string // "" for none
	keep                              bool
}

// life is one start of a confined process and what it does.
type life struct {
	policy int
	accept bool
	steps  []step // what it does after it has reported what it reaches
	// beside are steps that a process with the other policy repeats while this
	// life starts and runs.
	beside []step
}

// step is one attempt to change something; its failure is no error.
type step struct {
	do   string // a key of deeds
	path string
	to   string
}

// policy is r on a ground.
func (r *rules) policy(ground string, level policy.Level) *policy.Policy {
	place := func(list []string) []string {
		var out []string
		for _, s := range list {
			rest, dash := strings.CutPrefix(s, "-")
			s = filepath.Join(ground, rest)
			if dash {
				s = "-" + s
			}
			out = append(out, s)
		}
		return out
	}
	p := &policy.Policy{Level: level, Read: place(r.read), Exec: place(r.exec), Write: place(r.write), ReadOnly: place(r.readOnly),
		Deny: place(r.deny), JIT: r.jit}
	if r.work != "" {
		p.Work = policy.Work{Path: filepath.Join(ground, r.work), Size: 1 << 20, Inodes: 64, Keep: r.keep}
	}
	return p
}

// String is the case for a person.
func (c *testCase) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d\ntree:\n", c.seed)
	for _, e := range c.tree {
		fmt.Fprintf(&b, "  %-6s %s", e.kind, e.path)
		switch e.kind {
		case folder, regular:
			fmt.Fprintf(&b, " mode %04o owner %d", e.mode, owners[e.owner])
		case link, hard, bind:
			fmt.Fprintf(&b, " -> %s", e.text)
		}
		b.WriteByte('\n')
	}
	for i, r := range c.policies {
		fmt.Fprintf(&b, "policy of host-%d:", i)
		for _, l := range r.lists() {
			if len(*l.list) > 0 {
				fmt.Fprintf(&b, " %s = %q", l.name, *l.list)
			}
		}
		if r.work != "" {
			fmt.Fprintf(&b, " work = %q keep = %v", r.work, r.keep)
		}
		fmt.Fprintf(&b, " jit = %v\n", r.jit)
	}
	for i, l := range c.lives {
		fmt.Fprintf(&b, "life %d of host-%d", i, l.policy)
		if l.accept {
			b.WriteString(", accepted by a person")
		}
		b.WriteByte('\n')
		if len(l.beside) > 0 {
			fmt.Fprintf(&b, "  beside it, again and again: %v\n", l.beside)
		}
		if len(l.steps) > 0 {
			fmt.Fprintf(&b, "  %v\n", l.steps)
		}
	}
	return b.String()
}

func (s step) String() string { return strings.TrimSpace(s.do + " " + s.path + " " + s.to) }

type namedList struct {
	name string
	list *[]string
}

func (r *rules) lists() []namedList {
	return []namedList{{"read", &r.read}, {"exec", &r.exec}, {"write", &r.write}, {"read_only", &r.readOnly}, {"deny", &r.deny}}
}
