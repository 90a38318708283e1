//go:build unix

package sandbox

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"os"
	"strings"
	"syscall"
)

// interpreterChain returns the files that the kernel needs besides the program at
// path: the interpreter that the program names, the one that this names, and so on.
func interpreterChain(path string) []string {
	var list []string
	for range 4 { // as many as the kernel follows
		if path = interpreter(path); path == "" {
			break
		}
		list = append(list, path)
		if !strings.HasPrefix(path, "/") {
			break // relative to the working folder of the command
		}
	}
	return list
}

// interpreter returns the interpreter in the first line of a script, or the loader
// that a dynamically linked program names; "" for other files. It keeps a carriage
// return, a common reason for a missing interpreter.
func interpreter(path string) string {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe would wait for a writer
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
	name := strings.Trim(text, " \t")
	if end := strings.IndexAny(name, " \t"); end >= 0 {
		name = name[:end]
	}
	return name
}

// elfLoader returns the loader of a 64-bit ELF program; "" for a program without one
// and for other files.
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
