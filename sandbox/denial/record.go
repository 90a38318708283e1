package denial

import (
	"encoding/hex"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"
)

// Types of the kernel's audit records.
const (
	recordSeccomp        = 1326
	recordLandlockAccess = 1423
	recordLandlockDomain = 1424
)

// Record is one parsed audit record of the kernel.
type Record struct {
	Time    time.Time
	Domain  string   // the kernel's number of a Landlock domain; "" for other records
	Pid     int      // of the refused caller, or of the creator of the domain; 0 if not in the record
	Gone    bool     // the domain has ended
	Denials []Denial // nil for a record about a domain
}

// ParseRecord parses the text of an audit record: of an access refused by Landlock
// (1423), of a Landlock domain (1424), or of a system call refused by a filter
// (1326). It returns false for other and for malformed records.
func ParseRecord(kind uint16, text string) (Record, bool) {
	at, rest, ok := parseStamp(text)
	if !ok {
		return Record{}, false
	}
	r := Record{Time: at}
	f := parseFields(rest)
	switch kind {
	case recordSeccomp:
		nr, err := strconv.ParseUint(f["syscall"], 10, 31)
		if r.Pid = f.int("pid"); err != nil || r.Pid == 0 {
			return Record{}, false
		}
		d := callDenial(int(nr))
		d.Source = Seccomp
		d.Detail = f.text("comm")
		r.Denials = []Denial{d}
	case recordLandlockDomain:
		r.Domain, r.Pid, r.Gone = f["domain"], f.int("pid"), f["status"] == "deallocated"
		if r.Domain == "" || r.Pid == 0 && !r.Gone {
			return Record{}, false
		}
	case recordLandlockAccess:
		if r.Domain = f["domain"]; r.Domain == "" || f["blockers"] == "" {
			return Record{}, false
		}
		r.Denials = landlockDenials(f)
	default:
		return Record{}, false
	}
	for i := range r.Denials {
		d := &r.Denials[i]
		d.First, d.Last = at, at
		d.complete(at)
	}
	return r, true
}

// parseStamp parses "audit(1729738800.268:30): ".
func parseStamp(s string) (at time.Time, rest string, ok bool) {
	s, ok = strings.CutPrefix(s, "audit(")
	stamp, rest, ok2 := strings.Cut(s, "): ")
	clock, serial, ok3 := strings.Cut(stamp, ":")
	sec, msec, ok4 := strings.Cut(clock, ".")
	if !ok || !ok2 || !ok3 || !ok4 {
		return time.Time{}, "", false
	}
	n, err := strconv.ParseInt(sec, 10, 40)
	m, err2 := strconv.ParseUint(msec, 10, 10)
	_, err3 := strconv.ParseUint(serial, 10, 64)
	if err != nil || err2 != nil || err3 != nil || n < 0 || m > 999 {
		return time.Time{}, "", false
	}
	return time.Unix(n, int64(m)*int64(time.Millisecond)), rest, true
}

// fields are the unparsed fields of a record. Of two with the same name the first
// counts: names of processes and files come after the kernel's own fields.
type fields map[string]string

func parseFields(s string) fields {
	f := fields{}
	for s = strings.TrimLeft(s, " "); s != ""; s = strings.TrimLeft(s, " ") {
		name, rest, ok := strings.Cut(s, "=")
		if !ok {
			break
		}
		if i := strings.LastIndexByte(name, ' '); i >= 0 {
			name = name[i+1:] // a word without a value
		}
		var value string
		if strings.HasPrefix(rest, `"`) {
			end := strings.IndexByte(rest[1:], '"')
			if end < 0 {
				break
			}
			value, s = rest[:end+2], rest[end+2:]
		} else {
			value, s, _ = strings.Cut(rest, " ")
		}
		if _, twice := f[name]; !twice {
			f[name] = value
		}
	}
	return f
}

// text decodes a field with untrusted text: in quotes, or in hexadecimal if it
// contains characters that cannot be quoted.
func (f fields) text(name string) string {
	v := f[name]
	if n := len(v); n >= 2 && v[0] == '"' {
		return v[1 : n-1]
	}
	b, err := hex.DecodeString(v)
	if err != nil {
		return ""
	}
	return string(b)
}

func (f fields) int(name string) int {
	n, err := strconv.ParseUint(f[name], 10, 31)
	if err != nil {
		return 0
	}
	return int(n)
}

func landlockDenials(f fields) []Denial {
	var list []Denial
	add := func(d Denial, blocker string) {
		d.Source, d.Detail = Landlock, blocker
		for _, other := range list {
			if other.Kind == d.Kind && other.Path == d.Path {
				return
			}
		}
		list = append(list, d)
	}
	for b := range strings.SplitSeq(strings.Trim(f["blockers"], `"`), ",") {
		if d, ok := landlockDenial(b, f); ok {
			add(d, b)
		}
	}
	return list
}

func landlockDenial(blocker string, f fields) (Denial, bool) {
	what, isFS := strings.CutPrefix(blocker, "fs.")
	p := f.text("path")
	if isFS && what != "change_topology" {
		if !strings.HasPrefix(p, "/") {
			return Denial{}, false
		}
		p = path.Clean(p)
	}
	switch {
	case what == "execute":
		return pathDenial(Exec, p), true
	case what == "read_file", what == "read_dir":
		return pathDenial(Read, p), true
	case what == "ioctl_dev":
		return pathDenial(Device, p), true
	case what == "change_topology":
		return Denial{Kind: Syscall, Path: "mount"}, true
	case isFS: // write_file, truncate; the folder for make_…, remove_… and refer
		return pathDenial(Write, p), true
	case blocker == "net.connect_tcp":
		return netDenial(Connect, f["daddr"], f["dest"])
	case blocker == "net.bind_tcp":
		return netDenial(Bind, f["saddr"], f["src"])
	case blocker == "scope.abstract_unix_socket":
		name := strings.TrimPrefix(p, "\x00")
		return Denial{Kind: Connect, Path: "unix @" + strings.Map(printable, name), Field: "network", Suggest: `network = "host"`}, true
	case blocker == "scope.signal", blocker == "ptrace":
		return Denial{Kind: Process, Path: fmt.Sprintf("%d %s", f.int("opid"), strings.Map(printable, f.text("ocomm")))}, true
	}
	return Denial{}, false
}

func netDenial(kind Kind, addr, port string) (Denial, bool) {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return Denial{}, false
	}
	host := addr
	if strings.ContainsRune(host, ':') {
		host = "[" + host + "]"
	}
	d := Denial{Kind: kind, Path: host + ":" + strconv.FormatUint(n, 10)}
	if kind == Connect && addr != "" {
		d.Field = "allow"
	}
	return d, true
}
