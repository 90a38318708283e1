package inspector

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"
)

//go:embed note.js
var noteCode string

// noteArea is the size of one of the three areas of the file of notes, in bytes.
const noteArea = 64 << 10

// Notes reads what a process has noted since [Session.Note]. It stays readable after the
// end of the process, and is safe for concurrent use.
type Notes struct{ file *os.File }

// Note makes a process note, from now on, each call that stops its event loop, before the
// call begins, each large allocation, and native code that is loaded. Notes are in a file without a name, which ends with
// its last user. A second call returns the same notes. The caller must close them.
// Errors: those of [Session.Call], and those of files, as where the process cannot make one.
func (s *Session) Note(ctx context.Context) (*Notes, error) {
	var fd int
	if err := s.evaluate(ctx, noteCode, &fd); err != nil {
		return nil, err
	}
	// The process chooses what it returns: the file may be any of its files.
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", s.pid, fd), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: its notes are no regular file", ErrProtocol)
	}
	if err != nil {
		_ = f.Close() // it was only read
		return nil, err
	}
	return &Notes{f}, nil
}

// Close ends the use of the notes.
func (n *Notes) Close() error { return n.file.Close() }

// Blocking returns the stack, as V8 prints it, of the call that stops the event loop now, or did
// when the process ended, and when that began; "" without such a call.
func (n *Notes) Blocking() (stack string, since time.Time) {
	var note struct {
		Since int64  `json:"since"` // ms since 1970
		Stack string `json:"stack"`
	}
	if err := n.read(0, &note); err != nil || note.Stack == "" {
		return "", time.Time{}
	}
	return note.Stack, time.UnixMilli(note.Since)
}

// headRoom is by how many bytes a message may be longer than what was allocated for it.
const headRoom = 64

// Large returns the stack of the latest of the last allocations, up to 4, that may be that of a
// message of so many bytes; "" without one. Those below 1 MiB are not noted.
func (n *Notes) Large(bytes int64) (stack string) {
	var list []struct {
		Bytes int64  `json:"bytes"`
		Stack string `json:"stack"`
	}
	if err := n.read(1, &list); err != nil {
		return ""
	}
	for _, a := range slices.Backward(list) {
		if a.Bytes <= bytes && bytes-a.Bytes <= headRoom {
			return a.Stack
		}
	}
	return ""
}

// Native returns the files of native code, up to 64, that were loaded.
func (n *Notes) Native() (files []string) {
	if err := n.read(2, &files); err != nil {
		return nil
	}
	return files
}

// read decodes the line with which an area begins.
func (n *Notes) read(area int64, out any) error {
	data := make([]byte, noteArea)
	size, err := n.file.ReadAt(data, area*noteArea)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	line, _, _ := bytes.Cut(data[:size], []byte("\n"))
	return json.Unmarshal(line, out)
}
