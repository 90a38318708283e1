//go:build !hostsup_posix

package sandbox

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"os"
	"strings"
	"syscall"

	"github.com/hostsup/hostsup/sandbox/denial"
)

// interpreters are what the kernel runs too when it runs a program: the one
// that the first line of a script names, and the loader that a program for the
// dynamic linker names. They are never seen in a call.
func interpreters(path string) []denial.Denial {
	var list []denial.Denial
	for range 4 { // the kernel goes no further
		next := runsBy(path)
		if next == "" || !there(next) {
			break
		}
		list = append(list, denial.Denial{
			Kind: denial.Exec, Path: next,
			Detail: "what runs " + path, Source: denial.Seccomp, Hint: true,
		})
		path = next
	}
	return list
}

func runsBy(path string) string {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // of a pipe nobody may ever open the other end
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	head := make([]byte, 256)
	n, _ := io.ReadFull(f, head)
	head = head[:n]
	line, ok := bytes.CutPrefix(head, []byte("#!"))
	if !ok {
		return elfLoader(f, head)
	}
	text, _, _ := strings.Cut(string(line), "\n")
	if fields := strings.Fields(text); len(fields) > 0 && strings.HasPrefix(fields[0], "/") {
		return fields[0]
	}
	return ""
}

// elfLoader reads the loader of a 64-bit ELF program; "" for what is none or
// has none.
func elfLoader(r io.ReaderAt, head []byte) string {
	const (
		headSize, entrySize = 64, 56
		ptInterp            = 3
	)
	if len(head) < headSize || string(head[:6]) != "\x7fELF\x02\x01" {
		return ""
	}
	at := binary.LittleEndian.Uint64(head[32:])
	count := binary.LittleEndian.Uint16(head[56:])
	if binary.LittleEndian.Uint16(head[54:]) != entrySize || at > math.MaxInt32 {
		return ""
	}
	for i := range min(int(count), 64) {
		var entry [entrySize]byte
		if _, err := r.ReadAt(entry[:], int64(at)+int64(i)*entrySize); err != nil {
			return ""
		}
		if binary.LittleEndian.Uint32(entry[:]) != ptInterp {
			continue
		}
		from, size := binary.LittleEndian.Uint64(entry[8:]), binary.LittleEndian.Uint64(entry[32:])
		if from > math.MaxInt32 || size > 4096 {
			return ""
		}
		b := make([]byte, size)
		if _, err := r.ReadAt(b, int64(from)); err != nil {
			return ""
		}
		if name, _, _ := strings.Cut(string(b), "\x00"); strings.HasPrefix(name, "/") {
			return name
		}
		return ""
	}
	return ""
}
