package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// FormatPolicy writes a policy and limits as the text of a policy file, which
// reads back as the same. What has no value is left out. A policy that was
// made from a profile names it, and lists what it has from there as well.
func FormatPolicy(p policy.Policy, l policy.Limits) string {
	var w hclWriter
	w.open("sandbox")
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
	if base, _ := policy.Profile(p.Profile); p.JIT || base.JIT {
		w.set("jit", strconv.FormatBool(p.JIT))
	}
	w.list("devices", p.Devices)
	if len(p.Syscalls.Deny)+len(p.Syscalls.Allow) > 0 {
		w.open("syscalls")
		w.list("deny", p.Syscalls.Deny)
		w.list("allow", p.Syscalls.Allow)
		w.close()
	}
	if p.Tmp != (policy.Tmp{}) {
		w.open("tmp")
		w.size("size", p.Tmp.Size)
		w.number("inodes", float64(p.Tmp.Inodes))
		w.close()
	}
	if p.Work != (policy.Work{}) {
		w.open("work")
		w.text("path", p.Work.Path)
		w.size("size", p.Work.Size)
		w.number("inodes", float64(p.Work.Inodes))
		if p.Work.Keep {
			w.set("keep", "true")
		}
		w.close()
	}
	w.close()
	if l != (policy.Limits{}) {
		w.open("limits")
		w.size("memory", l.Memory)
		w.number("tasks", float64(l.Tasks))
		w.number("cpu", l.CPU)
		w.number("files", float64(l.Files))
		w.size("file_size", l.FileSize)
		w.size("address_space", l.AddressSpace)
		w.close()
	}
	return string(hclwrite.Format([]byte(w.String())))
}

// hclWriter writes settings that have a value.
type hclWriter struct{ strings.Builder }

func (w *hclWriter) open(block string) { fmt.Fprintf(w, "%s {\n", block) }

func (w *hclWriter) close() { w.WriteString("}\n") }

func (w *hclWriter) set(name, value string) { fmt.Fprintf(w, "%s = %s\n", name, value) }

func (w *hclWriter) text(name, v string) {
	if v != "" {
		w.set(name, hclQuote(v))
	}
}

func (w *hclWriter) number(name string, n float64) {
	if n != 0 {
		w.set(name, strconv.FormatFloat(n, 'f', -1, 64))
	}
}

// size rounds up what is no whole number of KiB, which has no form in a file.
func (w *hclWriter) size(name string, n int64) {
	if n != 0 {
		w.set(name, hclQuote(showSize((n+1023)/1024*1024)))
	}
}

// list writes one entry a line where a single one would be long.
func (w *hclWriter) list(name string, list []string) {
	if len(list) == 0 {
		return
	}
	const wide = 100
	quotes, width := make([]string, len(list)), len(name)
	for i, s := range list {
		quotes[i] = hclQuote(s)
		width += len(quotes[i]) + 2
	}
	if width < wide {
		w.set(name, "["+strings.Join(quotes, ", ")+"]")
		return
	}
	w.set(name, "[\n"+strings.Join(quotes, ",\n")+",\n]")
}

// hclQuote is s as it is written in a file.
func hclQuote(s string) string {
	return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes())
}
