package config

import (
	"strconv"

	"github.com/hostsup/hostsup/internal/hcltext"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// FormatPolicy writes a policy and limits as the text of a policy file, which reads
// back as the same. Fields without a value are left out. A policy that was made from
// a profile names the profile, and does not repeat its values.
func FormatPolicy(p policy.Policy, l policy.Limits) string {
	var w hclWriter
	base, _ := policy.Profile(p.Profile)
	p = policy.Without(p, base)
	w.Open("sandbox")
	w.text("profile", p.Profile)
	w.text("level", string(p.Level))
	w.text("user", p.User)
	w.list("read", p.Read)
	w.list("exec", p.Exec)
	w.list("write", p.Write)
	w.list("read_only", p.ReadOnly)
	w.list("deny", p.Deny)
	w.text("network", string(p.Network))
	w.list("allow", p.Allow)
	w.list("listen", p.Listen)
	if p.JIT != base.JIT {
		w.set("jit", strconv.FormatBool(p.JIT))
	}
	w.list("devices", p.Devices)
	if len(p.Syscalls.Deny)+len(p.Syscalls.Allow) > 0 {
		w.Open("syscalls")
		w.list("deny", p.Syscalls.Deny)
		w.list("allow", p.Syscalls.Allow)
		w.Close()
	}
	if p.Tmp != (policy.Tmp{}) {
		w.Open("tmp")
		w.size("size", p.Tmp.Size)
		w.number("inodes", float64(p.Tmp.Inodes))
		w.Close()
	}
	if p.Work != (policy.Work{}) {
		w.Open("work")
		w.text("path", p.Work.Path)
		w.size("size", p.Work.Size)
		w.number("inodes", float64(p.Work.Inodes))
		if p.Work.Keep {
			w.set("keep", "true")
		}
		w.Close()
	}
	w.Close()
	if l != (policy.Limits{}) {
		w.Open("limits")
		w.text("enforce", string(l.Enforce))
		w.size("memory", l.Memory)
		w.number("tasks", float64(l.Tasks))
		w.number("cpu", l.CPU)
		w.number("files", float64(l.Files))
		w.size("file_size", l.FileSize)
		w.size("address_space", l.AddressSpace)
		w.Close()
	}
	return w.String()
}

// hclWriter writes the settings that have a value.
type hclWriter struct{ hcltext.Writer }

func (w *hclWriter) set(name, value string) { w.Set(name, value, "") }

func (w *hclWriter) text(name, v string) {
	if v != "" {
		w.set(name, policy.Quote(v))
	}
}

func (w *hclWriter) number(name string, n float64) {
	if n != 0 {
		w.set(name, strconv.FormatFloat(n, 'f', -1, 64))
	}
}

// size rounds up to whole KiB, because a file cannot express other sizes.
func (w *hclWriter) size(name string, n int64) {
	if n != 0 {
		w.text(name, showSize((n+1023)/1024*1024))
	}
}

func (w *hclWriter) list(name string, list []string) {
	quotes := make([]string, len(list))
	for i, s := range list {
		quotes[i] = policy.Quote(s)
	}
	if len(quotes) > 0 {
		w.List(name, quotes)
	}
}
