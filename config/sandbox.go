package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// confinement holds the values of the blocks sandbox and limits, with their positions.
type confinement struct {
	given   bool // there is a sandbox block
	policy  policy.Policy
	limits  policy.Limits
	at      map[string]hcl.Range // by the names of fields that errors have: "deny[2]", "limits.memory"
	observe hostspec.Observe
	names   map[string]string // of entries as written, by the same keys: invalid entries before them may be left out
	base    policy.Policy     // the profile, whose lists are not in policy yet
}

func newConfinement() confinement {
	return confinement{at: map[string]hcl.Range{}, names: map[string]string{}, observe: hostspec.ObserveAuto}
}

const (
	levelForm = "default: full for root, no-cgroup for others"
	pathsForm = `a list of paths such as ["/usr", "-/opt/x"]`
)

// sandboxSection is the table of a sandbox block. The profile must come first: the
// rest adds to it.
func sandboxSection(c *confinement) section {
	p := &c.policy
	return section{
		name: "sandbox", doc: "What it may read, write, run and reach; nothing else.",
		settings: []setting{
			named("profile", "a named profile that the rest adds to; hostsup sandbox profile prints them", c.profile()),
			named("level", "the weakest that is accepted; "+levelForm, choice(&p.Level, policy.Levels()...)),
			named("user", "as root: a user id of its own (auto), the user that sudo names (caller), or the name or number of a user; others: their own", text(&p.User)),
			named("read", "may be read, with everything below; a leading dash: only if it exists", c.paths("read", &p.Read)),
			named("exec", "may be read and run", c.paths("exec", &p.Exec)),
			named("write", "may be read and written; files keep their owner", c.paths("write", &p.Write)),
			named("read_only", "may not be written although it is below a folder in write", c.paths("read_only", &p.ReadOnly)),
			named("deny", "wins over every grant, also when missing yet; patterns (*, ?, [a-z], **) hold for what matches at the start", c.paths("deny", &p.Deny)),
			named("network", "what it may reach", orElse(choice(&p.Network, policy.NetworkNone, policy.NetworkHost, policy.NetworkAllow), &p.Network, policy.NetworkNone)),
			named("allow", `what it may reach with network = "allow"`, c.words("allow", `a list of HOST:PORT such as ["db.example:5432"]`, &p.Allow)),
			named("listen", "addresses of this machine that are forwarded to the same port of its own loopback", c.words("listen", `a list of IP:PORT such as ["127.0.0.1:8080"]`, &p.Listen)),
			named("jit", "memory that is written and run, and running files that it wrote", boolean(&p.JIT, false)),
			named("observe", "watch it to report denials: where the kernel does not report them, always, or never; slows down its file access",
				choice(&c.observe, hostspec.ObserveAuto, hostspec.ObserveAlways, hostspec.ObserveNever)),
			named("devices", "device files beyond null, zero, full, random, urandom and tty", c.paths("devices", &p.Devices)),
		},
		sections: []section{
			{
				name: "syscalls", doc: "Changes to the list of system calls that are refused.",
				settings: []setting{
					named("deny", "refused too", c.words("syscalls.deny", `a list of names such as ["inotify_init1"]`, &p.Syscalls.Deny)),
					named("allow", "taken off the list", c.words("syscalls.allow", `a list of names such as ["ptrace"]`, &p.Syscalls.Allow)),
				},
			},
			{
				name: "tmp", doc: "Its private /tmp, in memory.",
				settings: []setting{
					named("size", "of all files in it", bound(size(&p.Tmp.Size, 64<<10, 1<<40), &p.Tmp.Size, policy.DefaultTmpSize)),
					named("inodes", "files and folders in it", count(&p.Tmp.Inodes, 16, 1<<31, policy.DefaultTmpInodes)),
				},
			},
			{
				name: "work", doc: "A bounded folder of its own, empty at the start.",
				settings: []setting{
					named("path", "where it is", path(&p.Work.Path, nil)),
					named("size", "of all files in it", bound(size(&p.Work.Size, 64<<10, 1<<40), &p.Work.Size, policy.DefaultWorkSize)),
					named("inodes", "files and folders in it", count(&p.Work.Inodes, 16, 1<<31, policy.DefaultWorkInodes)),
					named("keep", "what is in it outlives the process: a loop image, as root only", boolean(&p.Work.Keep, false)),
				},
			},
		},
	}
}

func limitsSection(l *policy.Limits) section {
	return section{
		name: "limits", doc: "Limits for it and everything it starts; without a setting there is no limit.",
		settings: []setting{
			named("enforce", "what to do where no cgroup can hold memory, tasks or cpu: refuse to start, or hold them as far as it goes and say so",
				orElse(choice(&l.Enforce, policy.Strict, policy.BestEffort), &l.Enforce, policy.Strict)),
			named("memory", "of the whole tree", unlimited(size(&l.Memory, 1<<20, 1<<50), &l.Memory)),
			named("tasks", "processes and threads", unlimited(whole(&l.Tasks, 1, 1<<22), &l.Tasks)),
			named("cpu", "processors: 1.5 is one and a half", unlimited(fraction(&l.CPU, 0.01, 4096), &l.CPU)),
			named("files", "open descriptors of each process", unlimited(whole(&l.Files, 8, 1<<30), &l.Files)),
			named("file_size", "of each file that it writes", unlimited(size(&l.FileSize, 1<<10, 1<<50), &l.FileSize)),
			named("address_space", "of each process; many runtimes do not start with one", unlimited(size(&l.AddressSpace, 4<<20, 1<<50), &l.AddressSpace)),
		},
	}
}

// unlimited shows no default, because 0 means no limit.
func unlimited[T ~int | ~int64 | float64](s setting, n *T) setting {
	show := s.show
	s.show = func() string {
		if *n == 0 {
			return ""
		}
		return show()
	}
	return s
}

// orElse shows the default that an empty value stands for.
func orElse[T ~string](s setting, v *T, def T) setting {
	show := s.show
	s.show = func() string {
		if *v == "" {
			return fmt.Sprintf("%q", def)
		}
		return show()
	}
	return s
}

// bound shows the default that 0 stands for.
func bound(s setting, n *int64, def int64) setting {
	s.show = func() string {
		if *n == 0 {
			return fmt.Sprintf("%q", showSize(def))
		}
		return fmt.Sprintf("%q", showSize(*n))
	}
	return s
}

// count reads a whole number from least to most; 0 stands for def.
func count(dst *int64, least, most int, def int64) setting {
	var n int
	s := whole(&n, least, most)
	read := s.read
	s.read = func(g given) {
		read(g)
		if n != 0 {
			*dst = int64(n)
		}
	}
	s.show = func() string {
		if *dst == 0 {
			return fmt.Sprint(def)
		}
		return fmt.Sprint(*dst)
	}
	return s
}

// profile reads the name of a profile, and starts the policy with it.
func (c *confinement) profile() setting {
	expect := quoted(policy.Profiles(), "or")
	return setting{expect: expect,
		read: func(g given) {
			name, ok := g.str(expect)
			if !ok {
				return
			}
			if c.base, ok = policy.Profile(name); !ok {
				g.bad("%q is not one of %s.%s", name, quoted(policy.Profiles(), "and"), didYouMean(name, policy.Profiles()))
				return
			}
			c.policy = policy.Policy{
				Profile: name, Level: c.base.Level, User: c.base.User, Network: c.base.Network, JIT: c.base.JIT, Tmp: c.base.Tmp, Work: c.base.Work,
			}
		},
		show: func() string { return "" },
	}
}

// paths reads a list of paths and adds them to the present ones. Relative paths
// start from the folder of the file.
func (c *confinement) paths(field string, dst *[]string) setting {
	return c.list(field, pathsForm, dst, func(g given, s string) (string, bool) {
		p, optional := s, false
		if field != "deny" {
			p, optional = policy.Optional(s)
		}
		switch {
		case p == "":
			g.bad("It is empty.")
			return "", false
		case p == "~" || strings.HasPrefix(p, "~/"):
			g.bad("%q would be a folder named ~; no shell reads it. Write \"${env(\"HOME\")}%s\".", p, p[1:])
			return "", false
		case !filepath.IsAbs(p) && !(field == "deny" && strings.HasPrefix(p, "-")):
			p = g.abs(p)
		}
		if optional {
			p = "-" + p
		}
		return p, true
	})
}

// words reads a list of strings and adds them to the present ones.
func (c *confinement) words(field, expect string, dst *[]string) setting {
	return c.list(field, expect, dst, func(_ given, s string) (string, bool) { return s, true })
}

func (c *confinement) list(field, expect string, dst *[]string, take func(given, string) (string, bool)) setting {
	return setting{expect: expect,
		read: func(g given) {
			elems, _ := g.distinct(expect) // errors are already reported; the rest is checked as well
			for _, e := range elems {
				s := e.val.AsString()
				if strings.ContainsRune(s, 0) {
					e.bad("It contains a NUL character.")
					continue
				}
				s, ok := take(e, s)
				if !ok {
					continue
				}
				if !slices.Contains(*dst, s) {
					key := fmt.Sprintf("%s[%d]", field, len(*dst))
					c.at[key], c.names[key] = e.rng, e.name
					*dst = append(*dst, s)
				}
			}
		},
		show: func() string { return showStrings(*dst) },
	}
}
