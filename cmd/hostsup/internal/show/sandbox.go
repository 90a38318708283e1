package show

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/internal/signame"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// Signal returns, for example, "killed by SIGKILL".
func Signal(n int) string { return "killed by " + signame.Of(n) }

// Profiles writes the named profiles, a line each.
func (s Screen) Profiles(w io.Writer) error {
	var rows [][]cell
	for _, name := range policy.Profiles() {
		rows = append(rows, []cell{{text: name}, {text: policy.ProfileDoc(name)}})
	}
	return s.table(w, []column{{title: "PROFILE"}, {title: "FOR"}}, rows)
}

// Sandboxes writes for each host that is confined or limited what is enforced, what
// is missing, and what the host was denied.
func (s Screen) Sandboxes(w io.Writer, hosts []record.HostStatus) error {
	for _, h := range hosts {
		in := h.Sandbox
		if in.Level == string(policy.None) && len(in.Missing) == 0 && len(in.Denials) == 0 {
			continue
		}
		if _, err := fmt.Fprintf(w, "\n%s: sandbox %s\n", Clean(h.Name), s.Paint(levelStyle(policy.Level(in.Level)), in.Level)); err != nil {
			return err
		}
		for _, m := range in.Missing {
			fmt.Fprintf(w, "  missing: %s\n", Clean(m))
		}
		for _, d := range in.Denials {
			if _, err := fmt.Fprintf(w, "  denied: %s\n", Clean(d.String())); err != nil {
				return err
			}
		}
	}
	return nil
}

// Machine writes what a machine can enforce: the level first, then each feature,
// then what to do about missing ones.
func (s Screen) Machine(w io.Writer, m *sandbox.Machine, system, user string) error {
	if _, err := fmt.Fprintf(w, "level %s (%s, %s)\n", s.Paint(levelStyle(m.Level), string(m.Level)), system, user); err != nil {
		return err
	}
	var rows [][]cell
	for _, f := range m.Features {
		have := cell{"yes", Green}
		if !f.Have {
			have = cell{"no", Red}
		}
		rows = append(rows, []cell{{text: Clean(f.Name)}, have, {text: levels(f.For)}, {text: Clean(f.Detail)}})
	}
	if len(rows) > 0 {
		fmt.Fprintln(w)
		if err := s.table(w, []column{{title: "FEATURE"}, {title: "HAVE"}, {title: "NEEDED FOR", spare: 1}, {title: "DETAIL"}}, rows); err != nil {
			return err
		}
	}
	first := true
	for _, f := range m.Features {
		if f.Have || f.Advice == "" {
			continue
		}
		if first {
			fmt.Fprintln(w, "\nwhat to do:")
			first = false
		}
		if _, err := fmt.Fprintf(w, "  %s: %s\n", Clean(f.Name), Clean(f.Advice)); err != nil {
			return err
		}
	}
	return nil
}

// limits returns, for example, "strict: memory 512MiB, cpu 0.5".
func limits(l policy.Limits) string {
	var list []string
	add := func(name, value string, set bool) {
		if set {
			list = append(list, name+" "+value)
		}
	}
	add("memory", Bytes(l.Memory), l.Memory > 0)
	add("tasks", strconv.Itoa(l.Tasks), l.Tasks > 0)
	add("cpu", strconv.FormatFloat(l.CPU, 'g', -1, 64), l.CPU > 0)
	add("files", strconv.Itoa(l.Files), l.Files > 0)
	add("file_size", Bytes(l.FileSize), l.FileSize > 0)
	add("address_space", Bytes(l.AddressSpace), l.AddressSpace > 0)
	how := l.Enforce
	if how == "" {
		how = policy.Strict
	}
	return string(how) + ": " + strings.Join(list, ", ")
}

func levels(in []policy.Level) string {
	if len(in) == 0 {
		return none
	}
	words := make([]string, len(in))
	for i, l := range in {
		words[i] = string(l)
	}
	return strings.Join(words, " ")
}

func levelStyle(l policy.Level) Style {
	switch l {
	case policy.Full:
		return Green
	case policy.None:
		return Red
	}
	return Yellow
}

// Resolved writes what a policy resolves to on this machine.
func (s Screen) Resolved(w io.Writer, r *policy.Resolved) error {
	p := r.Policy
	fmt.Fprintf(w, "level    %s or stronger\n", p.Level)
	if p.User != "" {
		fmt.Fprintf(w, "user     %s\n", Clean(p.User))
	}
	network := string(p.Network)
	if p.Network == policy.NetworkAllow {
		network = "only " + strings.Join(p.Allow, ", ")
	}
	fmt.Fprintf(w, "network  %s\n", Clean(network))
	jit := "no memory that is written and run"
	if p.JIT {
		jit = "memory that is written and run, and programs that it wrote"
	}
	fmt.Fprintf(w, "jit      %s\n", jit)
	if r.PrivateTmp {
		fmt.Fprintf(w, "/tmp     its own, %s, %d files\n", Bytes(p.Tmp.Size), p.Tmp.Inodes)
	}
	if p.Work.Path != "" {
		fmt.Fprintf(w, "work     %s, %s, %d files\n", Clean(p.Work.Path), Bytes(p.Work.Size), p.Work.Inodes)
	}
	if l := r.Limits; l.Any() {
		fmt.Fprintf(w, "limits   %s\n", limits(l))
	}
	var rows [][]cell
	for _, g := range r.Grants {
		what := g.Access.String()
		path := g.Path
		switch {
		case g.Link != "":
			path += " -> " + g.Link
		case g.Device:
			what = "device"
		}
		rows = append(rows, []cell{{text: what}, {text: Clean(g.Field)}, {text: Clean(path)}})
	}
	for _, d := range r.Denied {
		from := d.Field
		if d.Pattern != "" {
			from += " " + d.Pattern
		}
		path := d.Path
		if d.Missing {
			path += " (missing yet)"
		}
		if d.Closed != "" {
			path += " (as a whole: " + d.Closed + ")"
		}
		rows = append(rows, []cell{{"deny", Red}, {text: Clean(from)}, {text: Clean(path)}})
	}
	fmt.Fprintln(w)
	var err error
	if len(rows) == 0 {
		_, err = fmt.Fprintln(w, "nothing is granted")
	} else {
		err = s.table(w, []column{{title: "WHAT"}, {title: "BY"}, {title: "PATH"}}, rows)
	}
	for i, entry := range p.Deny {
		field := fmt.Sprintf("deny[%d]", i)
		if err == nil && !slices.ContainsFunc(r.Denied, func(d policy.Denied) bool { return d.Field == field }) {
			_, err = fmt.Fprintf(w, "%s %s takes nothing out of what is granted\n", field, Clean(entry))
		}
	}
	return err
}
