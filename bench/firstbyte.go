package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/bench/peers"
)

// The child of the restart measurement is a program of a few machine
// instructions: any interpreter, dynamic linker or language runtime would take
// longer to start than what is measured here, and would hide it. Its first act
// is to read the monotonic clock; then it writes the time and its pid into the
// named pipe of its first argument and sleeps for ever.
var childCode = []byte{
	0x4c, 0x8b, 0x64, 0x24, 0x10, // mov  r12, [rsp+16]   argv[1]
	0x48, 0x83, 0xec, 0x20, //       sub  rsp, 32
	0xb8, 0xe4, 0x00, 0x00, 0x00, // mov  eax, 228        clock_gettime
	0xbf, 0x01, 0x00, 0x00, 0x00, // mov  edi, 1          CLOCK_MONOTONIC
	0x48, 0x89, 0xe6, //             mov  rsi, rsp
	0x0f, 0x05, //                   syscall
	0xb8, 0x27, 0x00, 0x00, 0x00, // mov  eax, 39         getpid
	0x0f, 0x05, //                   syscall
	0x48, 0x89, 0x44, 0x24, 0x10, // mov  [rsp+16], rax
	0xb8, 0x02, 0x00, 0x00, 0x00, // mov  eax, 2          open
	0x4c, 0x89, 0xe7, //             mov  rdi, r12
	0xbe, 0x01, 0x00, 0x00, 0x00, // mov  esi, 1          O_WRONLY
	0x31, 0xd2, //                   xor  edx, edx
	0x0f, 0x05, //                   syscall
	0x89, 0xc7, //                   mov  edi, eax
	0xb8, 0x01, 0x00, 0x00, 0x00, // mov  eax, 1          write
	0x48, 0x89, 0xe6, //             mov  rsi, rsp
	0xba, 0x18, 0x00, 0x00, 0x00, // mov  edx, 24
	0x0f, 0x05, //                   syscall
	0xb8, 0x22, 0x00, 0x00, 0x00, // mov  eax, 34         pause
	0x0f, 0x05, //                   syscall
	0xeb, 0xf7, //                   jmp  to pause
}

// writeChild writes the program as a static ELF file of one segment.
func writeChild(path string) error {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Errorf("the child's instructions are for linux/amd64: %w", peers.ErrMissing)
	}
	const (
		base = 0x400000
		head = 64 + 56
	)
	size := uint64(head + len(childCode))
	var b bytes.Buffer
	b.WriteString("\x7fELF\x02\x01\x01" + "\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	for _, v := range []any{
		uint16(2), uint16(62), uint32(1), // executable, x86-64, version
		uint64(base + head), uint64(64), uint64(0), // entry, program headers, no sections
		uint32(0), uint16(64), uint16(56), uint16(1), uint16(64), uint16(0), uint16(0),
		uint32(1), uint32(5), // load, readable and executable
		uint64(0), uint64(base), uint64(base), size, size, uint64(4096),
		childCode,
	} {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			return err
		}
	}
	return os.WriteFile(path, b.Bytes(), 0o755)
}

// birth is what a child says of itself.
type birth struct {
	at  time.Duration // by the monotonic clock
	pid int
}

// nursery is the child program and the pipe that its processes report to.
type nursery struct {
	dir, program, fifo string
	pipe               *os.File
}

func newNursery() (*nursery, error) {
	dir, err := os.MkdirTemp("", "hostsup-bench-")
	if err != nil {
		return nil, err
	}
	n := &nursery{dir: dir, program: filepath.Join(dir, "child"), fifo: filepath.Join(dir, "births")}
	if err := n.open(); err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

func (n *nursery) open() error {
	if err := writeChild(n.program); err != nil {
		return err
	}
	if err := unix.Mkfifo(n.fifo, 0o600); err != nil {
		return err
	}
	// Open for writing as well, so that no child waits in its open and no end
	// of file is seen between two of them.
	var err error
	n.pipe, err = os.OpenFile(n.fifo, os.O_RDWR, 0)
	return err
}

// next waits for the next birth.
func (n *nursery) next(within time.Duration) (birth, error) {
	var rec [24]byte
	if err := n.pipe.SetReadDeadline(time.Now().Add(within)); err != nil {
		return birth{}, err
	}
	// Writes of this size to a pipe are whole, and so are the reads.
	k, err := n.pipe.Read(rec[:])
	if err != nil {
		return birth{}, err
	}
	if k != len(rec) {
		return birth{}, fmt.Errorf("a birth of %d bytes", k)
	}
	le := binary.LittleEndian
	return birth{
		at:  time.Duration(le.Uint64(rec[0:]))*time.Second + time.Duration(le.Uint64(rec[8:])),
		pid: int(le.Uint64(rec[16:])),
	}, nil
}

// Close removes what was made.
func (n *nursery) Close() {
	if n.pipe != nil {
		n.pipe.Close()
	}
	_ = os.RemoveAll(n.dir)
}

// monotonic is the clock that the child reads.
func monotonic() (time.Duration, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0, err
	}
	return time.Duration(ts.Nano()), nil
}
