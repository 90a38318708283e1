package denial

import (
	"encoding/binary"
	"strings"
	"testing"
)

// process is a fake for a frame: memory from an address on, and links.
type process struct {
	at     uint64
	memory []byte
	links  map[string]string
}

func (p process) frame(args ...uint64) *frame {
	f := &frame{
		memory: func(addr uint64, b []byte) int {
			if addr < p.at || addr >= p.at+uint64(len(p.memory)) {
				return 0
			}
			return copy(b, p.memory[addr-p.at:])
		},
		link:     func(name string) (string, bool) { s, ok := p.links[name]; return s, ok },
		datagram: func(fd int) (is, known bool) { return fd == 9, fd != 10 },
	}
	copy(f.args[:], args)
	return f
}

func describe(list []Denial) string {
	var out []string
	for _, d := range list {
		s := string(d.Kind) + " " + d.Path
		if d.Grant != "" {
			s += " by " + d.Grant
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

// aQuery queries the addresses of db.example.
const aQuery = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x02DB\x07example\x00\x00\x01\x00\x01"

// mmsg returns the argument of sendmmsg, at base: two messages of one part each.
func mmsg(base uint64) string {
	const header, part = 64, 16
	b := make([]byte, 2*header+2*part)
	for i := range uint64(2) {
		binary.LittleEndian.PutUint64(b[i*header+16:], base+2*header+i*part)
		binary.LittleEndian.PutUint64(b[i*header+24:], 1)
		binary.LittleEndian.PutUint64(b[2*header+i*part:], base+uint64(len(b)))
		binary.LittleEndian.PutUint64(b[2*header+i*part+8:], uint64(len(aQuery)))
	}
	return string(b) + aQuery
}

func TestQuestion(t *testing.T) {
	edns := "\x12\x34\x01\x20\x00\x01\x00\x00\x00\x00\x00\x01\x01a\x01b\x00\x00\x1c\x00\x01\x00\x00\x29\x05\xc0\x00\x00\x00\x00\x00\x00"
	if name, ok := question([]byte(edns)); !ok || name != "a.b" {
		t.Error(name, ok)
	}
	for _, bad := range []string{
		"", aQuery[:12], aQuery[:20],
		"\x12\x34\x81\x80" + aQuery[4:],                                    // an answer
		strings.Replace(aQuery, "example", "exam le", 1),                   // no name
		strings.Replace(aQuery, "\x02DB", "\xc0\x0cB", 1),                  // a pointer
		strings.Replace(aQuery, "\x00\x01\x00\x01", "\x00\x0f\x00\x01", 1), // mail
		aQuery[:12] + "\x00\x00\x01\x00\x01\x00",
	} {
		if name, ok := question([]byte(bad)); ok {
			t.Errorf("%q: %s", bad, name)
		}
	}
}

func FuzzQuestion(f *testing.F) {
	f.Add([]byte(aQuery))
	f.Fuzz(func(t *testing.T, b []byte) {
		if name, ok := question(b); ok && (name == "" || len(name) > 253 || strings.ToLower(name) != name) {
			t.Fatalf("%q", name)
		}
	})
}

func TestWatchedCalls(t *testing.T) {
	const base = 4090 // the string crosses a page boundary
	cwd := ^uint64(99)
	minus1 := ^uint64(0)
	open := func(flags uint64) []uint64 { return []uint64{cwd, base, flags} }
	for _, c := range []struct {
		call, memory string
		args         []uint64
		want         string
	}{
		{"openat", "/a/../b//c\x00", open(0), "read /b/c"},
		{"openat", "x\x00", open(0), "read /srv/x"},
		{"openat", "../x\x00", []uint64{3, base, 0}, "read /x"},
		{"openat", "x\x00", []uint64{4, base, 0}, ""},              // a pipe
		{"openat", "x\x00", []uint64{5, base, 0}, ""},              // removed
		{"openat", "x\x00", []uint64{6, base, 0}, ""},              // not open
		{"openat", "x\x00", []uint64{7, base, 0}, ""},              // outside of every mount
		{"openat", "/x\x00", []uint64{minus1, base, 0}, "read /x"}, // not used
		{"openat", "", open(0), ""},
		{"openat", "\x00", open(0), ""},
		{"openat", "/no end", open(0), ""},
		{"openat", "/x\x00", []uint64{cwd, 0, 0}, ""},
		{"openat", "/x\x00", open(openWrite), "write /x"},
		{"openat", "/x\x00", open(2), "write /x"},
		{"openat", "/x\x00", open(openCreate), "write /x"},
		{"openat", "/x\x00", open(openTrunc), "write /x"},
		{"openat", "/x\x00", open(openPath | 2), "stat /x"},
		{"openat", "/" + strings.Repeat("x", 5000) + "\x00", open(0), ""},
		{"open", "/x\x00", []uint64{base, openWrite}, "write /x"},
		{"openat2", "\x01\x00\x00\x00\x00\x00\x00\x00/x\x00", []uint64{cwd, base + 8, base}, "write /x"},
		{"creat", "/x\x00", []uint64{base}, "write /x"},
		{"execve", "/bin/sh\x00", []uint64{base}, "exec /bin/sh"},
		{"execveat", "\x00", []uint64{3, base, 0, 0, emptyPath}, "exec /dir"},
		{"execveat", "\x00", []uint64{4, base, 0, 0, emptyPath}, "syscall execveat"},
		{"execveat", "x\x00", []uint64{3, base, 0, 0, emptyPath}, "exec /dir/x"},
		{"mmap", "", []uint64{0, 1, 5, 2, 8}, "exec /lib/libc.so"},
		{"mmap", "", []uint64{0, 1, 5, 0x22, minus1}, "syscall mmap"},
		{"mmap", "", []uint64{0, 1, 7, 1, 8}, "syscall mmap"},
		{"mmap", "", []uint64{0, 1, 5, 2, 4}, "syscall mmap"},
		{"stat", "/x\x00", []uint64{base}, "stat /x"},
		{"mkdir", "/a/b\x00", []uint64{base}, "write /a/b by /a"},
		{"unlinkat", "b\x00", []uint64{3, base}, "write /dir/b by /dir"},
		{"symlink", "target\x00/a/b\x00", []uint64{base, base + 7}, "write /a/b by /a"},
		{"renameat2", "/a/b\x00/c/d\x00", []uint64{cwd, base, cwd, base + 5}, "write /a/b by /a, write /c/d by /c"},
		{"chmod", "/x\x00", []uint64{base}, "write /x"},
		{"fchownat", "\x00", []uint64{3, base, 0, 0, emptyPath}, "write /dir"},
		{"fchownat", "\x00", []uint64{4, base, 0, 0, emptyPath}, ""},
		{"connect", "\x02\x00\x01\xbb\x08\x08\x08\x08........", []uint64{3, base, 16}, "connect 8.8.8.8:443"},
		{"connect", "\x02\x00\x00\x00\x08\x08\x08\x08........", []uint64{3, base, 16}, ""}, // no port: it disconnects
		{"connect", "\x02\x00\x01\xbb\x08\x08", []uint64{3, base, 16}, ""},
		{"connect", "\x0a\x00\x00\x50\x00\x00\x00\x00" + strings.Repeat("\x00", 15) + "\x01....", []uint64{3, base, 28}, "connect [::1]:80"},
		{"connect", "\x0a\x00\x00\x50\x00\x00\x00\x00" + strings.Repeat("\x00", 10) + "\xff\xff\x7f\x00\x00\x01....", []uint64{3, base, 28}, "connect 127.0.0.1:80"},
		{"connect", "\x01\x00/run/x.sock\x00junk", []uint64{3, base, 110}, "connect unix /run/x.sock by /run/x.sock"},
		{"connect", "\x01\x00x.sock", []uint64{3, base, 8}, "connect unix /srv/x.sock by /srv/x.sock"},
		{"connect", "\x01\x00\x00name\n", []uint64{3, base, 8}, "connect unix @name?"},
		{"connect", "\x01\x00", []uint64{3, base, 2}, ""},
		{"connect", "\x10\x00\x00\x00\x00\x00\x00\x00", []uint64{3, base, 8}, ""}, // netlink
		{"connect", "", []uint64{3, base, minus1}, ""},
		{"sendto", aQuery, []uint64{3, base, uint64(len(aQuery)), 0, 0, 0}, "resolve db.example by db.example:*"},
		{"sendto", aQuery, []uint64{3, base, uint64(len(aQuery)) + 1, 0, 0, 0}, ""},
		{"sendto", aQuery, []uint64{3, base, uint64(len(aQuery)) - 1, 0, 0, 0}, ""},
		{"sendto", aQuery + "x", []uint64{3, base, uint64(len(aQuery)) + 1, 0, 0, 0}, ""},
		{"sendto", "GET / HTTP/1.1\r\n\r\n........", []uint64{3, base, 18, 0, 0, 0}, ""},
		{"sendto", "", []uint64{3, base, 1 << 40, 0, 0, 0}, ""},
		{"sendto", "\x02\x00\x00\x35\x08\x08\x08\x08........", []uint64{3, base, 0, 0, base, 16}, "connect 8.8.8.8:53"}, // with data, of a stream
		{"sendto", "\x02\x00\x00\x35\x08\x08\x08\x08........", []uint64{9, base, 0, 0, base, 16}, "connect udp 8.8.8.8:53"},
		{"sendto", "\x02\x00\x00\x35\x08\x08\x08\x08........", []uint64{10, base, 0, 0, base, 16}, "connect udp 8.8.8.8:53"},
		{"sendto", aQuery + "\x02\x00\x00\x35\x08\x08\x08\x08........", []uint64{9, base, uint64(len(aQuery)), 0, base + uint64(len(aQuery)), 16}, "resolve db.example by db.example:*"},
		{"connect", "\x02\x00\x01\xbb\x08\x08\x08\x08........", []uint64{9, base, 16}, "connect udp 8.8.8.8:443"},
		{"connect", "\x02\x00\x01\xbb\x08\x08\x08\x08........", []uint64{10, base, 16}, "connect 8.8.8.8:443"},
		{"connect", "\x01\x00/run/x.sock\x00junk", []uint64{9, base, 110}, "connect unix /run/x.sock by /run/x.sock"},
		{"sendmsg", mmsg(base), []uint64{9, base}, "resolve db.example by db.example:*"},
		{"sendmsg", "", []uint64{9, base}, ""},
		{"sendmmsg", mmsg(base), []uint64{3, base, 2}, "resolve db.example by db.example:*"},
		{"sendmmsg", mmsg(base), []uint64{3, base + 1, 1 << 31}, ""},
		{"bind", "\x01\x00/run/x.sock\x00", []uint64{3, base, 110}, "bind unix /run/x.sock by /run"},
		{"bind", "\x02\x00\x01\xbb\x00\x00\x00\x00", []uint64{3, base, 8}, "bind 0.0.0.0:443"},
	} {
		p := process{at: base, memory: []byte(c.memory), links: map[string]string{
			"cwd": "/srv", "fd/3": "/dir", "fd/4": "pipe:[1]", "fd/5": "/gone (deleted)", "fd/7": "(unreachable)/x", "fd/8": "/lib/libc.so",
		}}
		for _, w := range watched {
			if w.name == c.call {
				if got := describe(w.see(p.frame(c.args...))); got != c.want {
					t.Errorf("%s %q %v: %q, want %q", c.call, c.memory, c.args, got, c.want)
				}
			}
		}
	}
}

func FuzzCalls(f *testing.F) {
	f.Add(uint8(0), []byte("/x\x00"), uint64(4096), uint64(0), uint64(3))
	f.Add(uint8(50), []byte("\x02\x00\x01\xbb\x08\x08\x08\x08........"), uint64(3), uint64(4096), uint64(16))
	f.Fuzz(func(t *testing.T, call uint8, memory []byte, a, b, c uint64) {
		p := process{at: 4096, memory: memory, links: map[string]string{"cwd": "/srv", "fd/3": "/dir"}}
		w := watched[int(call)%len(watched)]
		for _, d := range w.see(p.frame(a, b, c, b, 4096, 16)) {
			d.complete(d.First)
			if d.Kind == "" || d.Path == "" || d.Kind != Syscall && d.Kind != Bind && d.Kind != Connect && d.Path[0] != '/' {
				t.Fatalf("%s: %+v", w.name, d)
			}
			if d.Field != "" && d.Suggest == "" {
				t.Fatalf("%s: %+v", w.name, d)
			}
		}
	})
}

func FuzzSockaddr(f *testing.F) {
	b := make([]byte, 16)
	binary.LittleEndian.PutUint16(b, family4)
	f.Add(b)
	f.Add([]byte("\x01\x00/run/x"))
	f.Add([]byte("\x01\x00\x00x"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, ok := sockaddr(b); ok && (s == "" || strings.ContainsAny(s, "\x00")) {
			t.Fatalf("%q", s)
		}
	})
}
