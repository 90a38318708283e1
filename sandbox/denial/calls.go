package denial

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// Values of the Linux ABI that are the same on all supported processors.
const (
	atFDCWD   = -100
	emptyPath = 0x1000

	openAccess = 3
	openWrite  = 1
	openCreate = 0o100
	openTrunc  = 0o1000
	openPath   = 0o10000000
	openTmp    = 0o20000000

	protWrite = 2
	protExec  = 4
	mapAnon   = 0x20

	familyUnix = 1
	family4    = 2
	family6    = 10

	maxPath     = 4096
	maxSockaddr = 128
)

// frame is one watched call, with access to its process.
type frame struct {
	args [6]uint64
	// memory reads the process's memory at an address and returns how many bytes it read.
	memory func(addr uint64, b []byte) int
	// link reads a link of the process's folder in /proc: "cwd", "fd/3".
	link func(name string) (string, bool)
	// datagram reports whether a descriptor of the process is a datagram socket, and
	// whether that is known.
	datagram func(fd int) (is, known bool)
}

// watched lists the calls that the observer sees and lets pass.
var watched = []struct {
	name string
	when condition
	see  func(*frame) []Denial
}{
	{"open", always, func(f *frame) []Denial { return f.open(atFDCWD, f.args[0], f.args[1]) }},
	{"openat", always, func(f *frame) []Denial { return f.open(f.fd(0), f.args[1], f.args[2]) }},
	{"openat2", always, func(f *frame) []Denial { return f.open(f.fd(0), f.args[1], f.word(f.args[2])) }},
	{"creat", always, func(f *frame) []Denial { return f.file(Write, atFDCWD, f.args[0]) }},
	{"truncate", always, func(f *frame) []Denial { return f.file(Write, atFDCWD, f.args[0]) }},
	{"execve", always, func(f *frame) []Denial { return f.file(Exec, atFDCWD, f.args[0]) }},
	{"execveat", always, func(f *frame) []Denial { return f.fileOrFD(Exec, f.fd(0), f.args[1], f.args[4]) }},
	{"mmap", condition{2, protExec, 0, true}, (*frame).mmap},
	{"mprotect", condition{2, protExec, 0, true}, func(*frame) []Denial { return jit("mprotect") }},
	{"memfd_create", always, func(*frame) []Denial { return jit("memfd_create") }},

	{"stat", always, func(f *frame) []Denial { return f.file(Stat, atFDCWD, f.args[0]) }},
	{"lstat", always, func(f *frame) []Denial { return f.file(Stat, atFDCWD, f.args[0]) }},
	{"newfstatat", condition{3, emptyPath, 0, false}, func(f *frame) []Denial { return f.file(Stat, f.fd(0), f.args[1]) }},
	{"statx", condition{2, emptyPath, 0, false}, func(f *frame) []Denial { return f.file(Stat, f.fd(0), f.args[1]) }},
	{"access", always, func(f *frame) []Denial { return f.file(Stat, atFDCWD, f.args[0]) }},
	{"faccessat", always, func(f *frame) []Denial { return f.file(Stat, f.fd(0), f.args[1]) }},
	{"faccessat2", always, func(f *frame) []Denial { return f.file(Stat, f.fd(0), f.args[1]) }},
	{"readlink", always, func(f *frame) []Denial { return f.file(Stat, atFDCWD, f.args[0]) }},
	{"readlinkat", always, func(f *frame) []Denial { return f.file(Stat, f.fd(0), f.args[1]) }},
	{"chdir", always, func(f *frame) []Denial { return f.file(Stat, atFDCWD, f.args[0]) }},
	{"statfs", always, func(f *frame) []Denial { return f.file(Stat, atFDCWD, f.args[0]) }},
	{"inotify_add_watch", always, func(f *frame) []Denial { return f.file(Read, atFDCWD, f.args[1]) }},

	{"mkdir", always, func(f *frame) []Denial { return f.entry(atFDCWD, f.args[0]) }},
	{"mkdirat", always, func(f *frame) []Denial { return f.entry(f.fd(0), f.args[1]) }},
	{"mknod", always, func(f *frame) []Denial { return f.entry(atFDCWD, f.args[0]) }},
	{"mknodat", always, func(f *frame) []Denial { return f.entry(f.fd(0), f.args[1]) }},
	{"rmdir", always, func(f *frame) []Denial { return f.entry(atFDCWD, f.args[0]) }},
	{"unlink", always, func(f *frame) []Denial { return f.entry(atFDCWD, f.args[0]) }},
	{"unlinkat", always, func(f *frame) []Denial { return f.entry(f.fd(0), f.args[1]) }},
	{"symlink", always, func(f *frame) []Denial { return f.entry(atFDCWD, f.args[1]) }},
	{"symlinkat", always, func(f *frame) []Denial { return f.entry(f.fd(1), f.args[2]) }},
	{"rename", always, func(f *frame) []Denial { return f.entries(atFDCWD, f.args[0], atFDCWD, f.args[1]) }},
	{"renameat", always, func(f *frame) []Denial { return f.entries(f.fd(0), f.args[1], f.fd(2), f.args[3]) }},
	{"renameat2", always, func(f *frame) []Denial { return f.entries(f.fd(0), f.args[1], f.fd(2), f.args[3]) }},
	{"link", always, func(f *frame) []Denial { return f.entries(atFDCWD, f.args[0], atFDCWD, f.args[1]) }},
	{"linkat", always, func(f *frame) []Denial { return f.entries(f.fd(0), f.args[1], f.fd(2), f.args[3]) }},

	{"chmod", always, func(f *frame) []Denial { return f.file(Write, atFDCWD, f.args[0]) }},
	{"fchmodat", always, func(f *frame) []Denial { return f.file(Write, f.fd(0), f.args[1]) }},
	{"fchmodat2", always, func(f *frame) []Denial { return f.fileOrFD(Write, f.fd(0), f.args[1], f.args[3]) }},
	{"chown", always, func(f *frame) []Denial { return f.file(Write, atFDCWD, f.args[0]) }},
	{"lchown", always, func(f *frame) []Denial { return f.file(Write, atFDCWD, f.args[0]) }},
	{"fchownat", always, func(f *frame) []Denial { return f.fileOrFD(Write, f.fd(0), f.args[1], f.args[4]) }},
	{"utime", always, func(f *frame) []Denial { return f.file(Write, atFDCWD, f.args[0]) }},
	{"utimes", always, func(f *frame) []Denial { return f.file(Write, atFDCWD, f.args[0]) }},
	{"futimesat", always, func(f *frame) []Denial { return f.file(Write, f.fd(0), f.args[1]) }},
	{"utimensat", always, func(f *frame) []Denial { return f.file(Write, f.fd(0), f.args[1]) }},
	{"setxattr", always, func(f *frame) []Denial { return f.file(Write, atFDCWD, f.args[0]) }},
	{"lsetxattr", always, func(f *frame) []Denial { return f.file(Write, atFDCWD, f.args[0]) }},

	{"connect", always, func(f *frame) []Denial { return f.connect(f.fd(0), f.args[1], f.args[2], false) }},
	{"bind", always, func(f *frame) []Denial { return f.socket(Bind, f.args[1], f.args[2]) }},
	{"sendto", condition{5, ^uint32(0), 0, true}, func(f *frame) []Denial {
		return f.sentTo(f.fd(0), f.args[1], f.args[2], f.args[4], f.args[5])
	}},
	// sendmsg with flags is not watched: it sends the filter's own listener.
	{"sendmsg", condition{2, ^uint32(0), 0, false}, func(f *frame) []Denial { return f.message(f.args[1]) }},
	{"sendmmsg", always, (*frame).sendmmsg},
}

// condition selects the calls of a number that are watched: argument & mask must
// equal want, or must not. A mask of 0 selects all.
type condition struct {
	arg        int
	mask, want uint32
	not        bool
}

var always condition

// fd returns an argument as a descriptor.
func (f *frame) fd(i int) int { return int(int32(f.args[i])) }

// word reads the first 64 bits of a structure.
func (f *frame) word(addr uint64) uint64 {
	var b [8]byte
	if f.memory(addr, b[:]) < len(b) {
		return 0
	}
	return binary.LittleEndian.Uint64(b[:])
}

// text reads a string that ends in a zero byte, page by page, because memory after
// it may not be mapped.
func (f *frame) text(addr uint64) (string, bool) {
	var out []byte
	buf := make([]byte, 256)
	for addr != 0 && len(out) < maxPath {
		n := f.memory(addr, buf[:min(uint64(len(buf)), 4096-addr%4096)])
		if n <= 0 {
			return "", false
		}
		for i, c := range buf[:n] {
			if c == 0 {
				return string(append(out, buf[:i]...)), true
			}
		}
		out = append(out, buf[:n]...)
		addr += uint64(n)
	}
	return "", false
}

// path joins a folder's descriptor and a path; it does not follow links.
func (f *frame) path(dir int, addr uint64) (string, bool) {
	p, ok := f.text(addr)
	if !ok || p == "" {
		return "", false
	}
	if p[0] != '/' {
		base, ok := f.dir(dir)
		if !ok {
			return "", false
		}
		p = base + "/" + p
	}
	return path.Clean(p), true
}

func (f *frame) dir(fd int) (string, bool) {
	name := "cwd"
	if fd != atFDCWD {
		name = "fd/" + strconv.Itoa(fd)
	}
	p, ok := f.link(name)
	// Pipes, memory files and removed files have no path.
	return p, ok && strings.HasPrefix(p, "/") && !strings.HasSuffix(p, " (deleted)")
}

func (f *frame) file(kind Kind, dir int, addr uint64) []Denial {
	p, ok := f.path(dir, addr)
	if !ok {
		return nil
	}
	return []Denial{pathDenial(kind, p)}
}

// fileOrFD is for calls that use the descriptor itself if the path is empty.
func (f *frame) fileOrFD(kind Kind, dir int, addr, flags uint64) []Denial {
	if flags&emptyPath != 0 {
		if s, ok := f.text(addr); ok && s == "" {
			p, ok := f.dir(dir)
			switch {
			case ok:
				return []Denial{pathDenial(kind, p)}
			case kind == Exec:
				return jit("execveat")
			}
			return nil
		}
	}
	return f.file(kind, dir, addr)
}

func (f *frame) open(dir int, addr, flags uint64) []Denial {
	kind := Read
	switch {
	case flags&openPath != 0:
		kind = Stat
	case flags&openAccess != 0 || flags&(openCreate|openTrunc) != 0:
		kind = Write
	}
	d := f.file(kind, dir, addr)
	if len(d) > 0 && flags&openTmp == openTmp {
		d[0].Detail = "a file without a name"
	}
	return d
}

// entry is for calls that change the entries of a folder.
func (f *frame) entry(dir int, addr uint64) []Denial {
	d := f.file(Write, dir, addr)
	if len(d) > 0 {
		d[0].Grant = path.Dir(d[0].Path)
	}
	return d
}

func (f *frame) entries(dir int, addr uint64, dir2 int, addr2 uint64) []Denial {
	return append(f.entry(dir, addr), f.entry(dir2, addr2)...)
}

// mmap reports executable memory only.
func (f *frame) mmap() []Denial {
	if f.args[3]&mapAnon != 0 || f.args[2]&protWrite != 0 && f.args[3]&1 != 0 {
		return jit("mmap")
	}
	p, ok := f.dir(int(int32(f.args[4])))
	if !ok {
		return jit("mmap")
	}
	return []Denial{pathDenial(Exec, p)}
}

func jit(call string) []Denial {
	return []Denial{{Kind: Syscall, Path: call, Field: "jit", Suggest: "jit = true", Detail: "memory that is written and executed"}}
}

func (f *frame) socket(kind Kind, addr, length uint64) []Denial {
	b := make([]byte, min(length, maxSockaddr))
	b = b[:max(0, f.memory(addr, b))]
	s, ok := sockaddr(b)
	if !ok {
		return nil
	}
	d := Denial{Kind: kind, Path: s}
	p, isPath := strings.CutPrefix(s, "unix ")
	switch {
	case isPath && strings.HasPrefix(p, "@"):
		d.Field, d.Suggest = "network", `network = "host"`
	case isPath:
		if p[0] != '/' {
			base, ok := f.dir(atFDCWD)
			if !ok {
				return nil
			}
			p = path.Clean(base + "/" + p)
		}
		d.Path, d.Field = "unix "+p, "write"
		d.Grant = p
		if kind == Bind {
			d.Grant = path.Dir(p)
		}
		d.Suggest = policy.Line("write", d.Grant)
	case kind == Connect:
		d.Field, d.Suggest = "allow", policy.Line("allow", s)
	}
	return []Denial{d}
}

// queries reports the name if the sent bytes are a query to a name server.
func (f *frame) queries(addr, length uint64) []Denial {
	if length > maxQuery {
		return nil
	}
	b := make([]byte, length)
	if f.memory(addr, b) < len(b) {
		return nil
	}
	name, ok := question(b)
	if !ok {
		return nil
	}
	// The port is not known yet.
	return []Denial{{Kind: Resolve, Path: name, Field: "allow", Grant: name + ":*", Suggest: policy.Line("allow", name+":*")}}
}

// connect reports the address of a socket call. sends means that the address is that
// of a message, which only datagram sockets have.
func (f *frame) connect(fd int, addr, length uint64, sends bool) []Denial {
	list := f.socket(Connect, addr, length)
	for i := range list {
		d := &list[i]
		if is, known := f.datagram(fd); strings.HasPrefix(d.Path, "unix ") || !is && (known || !sends) {
			continue
		}
		d.Path, d.Field, d.Suggest = "udp "+d.Path, "network", `network = "host"` // the proxy forwards no datagrams
	}
	return list
}

// sentTo reports the name that a message queries, or else its destination.
func (f *frame) sentTo(fd int, data, size, addr, length uint64) []Denial {
	if list := f.queries(data, size); list != nil || addr == 0 {
		return list
	}
	return f.connect(fd, addr, length, true)
}

// message reports on the first part of a message whose header is at an address.
func (f *frame) message(at uint64) []Denial {
	var h [64]byte
	if f.memory(at, h[:]) < 56 { // the header of sendmsg is shorter than that of sendmmsg
		return nil
	}
	var part [16]byte
	if f.memory(binary.LittleEndian.Uint64(h[16:]), part[:]) < len(part) {
		return nil
	}
	return f.sentTo(f.fd(0), binary.LittleEndian.Uint64(part[:]), binary.LittleEndian.Uint64(part[8:]),
		binary.LittleEndian.Uint64(h[:]), uint64(binary.LittleEndian.Uint32(h[8:])))
}

// sendmmsg reports on the first messages: the C library queries both kinds of
// address at once.
func (f *frame) sendmmsg() []Denial {
	const headers, headerSize = 4, 64
	var list []Denial
	for i := range min(uint64(uint32(f.args[2])), headers) {
		for _, d := range f.message(f.args[1] + i*headerSize) {
			if !slices.ContainsFunc(list, func(o Denial) bool { return o.Path == d.Path }) {
				list = append(list, d)
			}
		}
	}
	return list
}

// sockaddr writes an address as "1.2.3.4:80", "[::1]:80", "unix /path" or
// "unix @name"; false for other families, and without a name or a port.
func sockaddr(b []byte) (string, bool) {
	if len(b) < 2 {
		return "", false
	}
	switch family := binary.LittleEndian.Uint16(b); {
	case family == family4 && len(b) >= 8:
		port := binary.BigEndian.Uint16(b[2:])
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port).String(), port != 0
	case family == family6 && len(b) >= 24:
		port := binary.BigEndian.Uint16(b[2:])
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])).Unmap(), port).String(), port != 0
	case family == familyUnix && len(b) > 2:
		p := string(b[2:])
		if p[0] == 0 {
			return fmt.Sprintf("unix @%s", strings.Map(printable, p[1:])), len(p) > 1
		}
		p, _, _ = strings.Cut(p, "\x00")
		return "unix " + p, true
	}
	return "", false
}

func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return '?'
	}
	return r
}
