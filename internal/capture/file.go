package capture

import (
	"path/filepath"
	"sync"
	"time"
)

// File is a file of whole lines that rotates as those of a [Log] do. Safe for concurrent
// use. Make it with [OpenFile].
type File struct {
	mu     sync.Mutex
	sink   sink
	opt    FileOptions
	lost   uint64 // lines, since OpenFile
	closed bool
}

// FileOptions of a File.
type FileOptions struct {
	Rules // JSON means nothing: lines are written as they are

	Packer Packer // nil: nothing is compressed

	// Missing returns a line that says how many lines could not be written and why. It is
	// written when the file can be written again. Nil: nothing is.
	Missing func(lines uint64, cause error) []byte

	// OnError is called when the file cannot be written, once per series of failures, with
	// no lock held, and when an old file cannot be compressed. May be nil.
	OnError func(error)
}

// OpenFile opens the file at path for appending, and makes it and its folder when missing
// (modes 0600 and 0700). Older files get .1, .2 and so on at the end of that path.
func OpenFile(path string, opt FileOptions) (*File, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	f := &File{opt: opt}
	f.sink.base, f.sink.Rules, f.sink.lock, f.sink.archive, f.sink.onArchive = path, opt.withDefaults(), &f.mu, new(Archiver), opt.OnError
	f.sink.packer = opt.Packer
	f.mu.Lock()
	err = f.sink.open()
	f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Write appends whole lines. It never fails: lines that cannot be written are counted, and
// the file is tried again as that of a [Log]. After Close it does nothing.
func (f *File) Write(b []byte) (int, error) {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return len(b), nil
	}
	now := time.Now()
	f.sink.adopt()
	if f.sink.down && !now.Before(f.sink.retryAt) {
		f.revive(now)
	}
	before := f.sink.lostLines
	f.sink.write(b, now)
	f.lost += f.sink.lostLines - before
	err := f.sink.report()
	f.mu.Unlock()
	if err != nil && f.opt.OnError != nil {
		f.opt.OnError(err)
	}
	return len(b), nil
}

// revive ends a series of failures if the file can be written again. The caller must hold
// mu.
func (f *File) revive(now time.Time) {
	var line []byte
	if f.opt.Missing != nil {
		line = f.opt.Missing(f.sink.lostLines, f.sink.cause)
	}
	f.sink.revive(line, now)
}

// Lost returns how many lines could not be written since OpenFile.
func (f *File) Lost() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost
}

// SetRules changes the rules from the next write on.
func (f *File) SetRules(r Rules) { f.sink.setRules(r) }

// Reopen opens the path again, for when the file was moved; see [Log.Reopen].
func (f *File) Reopen() { f.sink.setReopen(f.mu.TryLock, f.mu.Unlock) }

// Close closes the file and ends work on old ones. Idempotent.
func (f *File) Close() error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil
	}
	if f.sink.down {
		f.revive(time.Now())
	}
	f.closed = true
	err := f.sink.close()
	f.mu.Unlock()
	f.sink.archive.forget(&f.sink)
	f.sink.archive.Close()
	return err
}
