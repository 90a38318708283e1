package files

import (
	"cmp"
	"errors"
	"path/filepath"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/execserver/wire"
)

// Limits bound what one connection can take. The zero value of a field is its
// default.
type Limits struct {
	ReadFile   int64 // bytes of a file that is read as a whole; default wire.MaxReadFile
	Handles    int   // open files; default wire.MaxFileHandles
	DirEntries int   // entries that readDirectory answers with; default 500,000

	// Changed is called with what a watch has seen, on the goroutine of the watch.
	// Close and the next watch wait for it, and it must not wait for them. If it is
	// nil, nothing can be watched.
	Changed func(wire.FSMissingChanged)
}

// Files answers the fs methods for one connection.
type Files struct {
	limits Limits

	mu      sync.Mutex
	closed  bool
	handles map[string]*handle
	watch   *watch
	lastID  uint64 // of watches
	seenID  bool
}

// New returns the Files of one connection, which must be closed.
func New(limits Limits) *Files {
	limits.ReadFile = cmp.Or(limits.ReadFile, wire.MaxReadFile)
	limits.Handles = cmp.Or(limits.Handles, wire.MaxFileHandles)
	limits.DirEntries = cmp.Or(limits.DirEntries, 500_000)
	return &Files{limits: limits, handles: map[string]*handle{}}
}

// Close ends all open files and watches, and waits until they have ended.
func (f *Files) Close() {
	f.mu.Lock()
	f.closed = true
	open, w := f.handles, f.watch
	f.handles, f.watch = map[string]*handle{}, nil
	f.mu.Unlock()
	for _, h := range open {
		if h.f != nil {
			_ = h.f.Close()
		}
	}
	w.stop()
}

// Holds reports whether a file is open under a client's name, or is being
// opened.
func (f *Files) Holds(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.handles[id] != nil
}

// failure returns an error as the answer to a request.
func failure(err error) *wire.Error {
	var known *wire.Error
	if errors.As(err, &known) {
		return known
	}
	return wire.FileError(err)
}

func notFile(shown string) *wire.Error {
	return wire.InvalidRequest("path `%s` is not a file", shown)
}

// yes returns the value of an option that defaults to true.
func yes(b *bool) bool { return b == nil || *b }

// join returns the path of an entry of a folder. It does not clean the path: a ..
// may follow a link.
func join(dir, name string) string {
	return strings.TrimSuffix(dir, "/") + string(filepath.Separator) + name
}
