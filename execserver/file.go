package execserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/hostsup/hostsup/execserver/wire"
)

// reopenings is how often one piece is read, or one file written, before the end
// of the connection is reported.
const reopenings = 10

// ErrReplaced means that a file was replaced by another one while the connection
// was cut: reading on would mix the two.
var ErrReplaced = errors.New("the file was replaced while the connection was cut")

// File is an open file or folder on the server. It implements fs.File,
// fs.ReadDirFile, io.ReaderAt, io.WriterAt, io.Writer and io.Seeker. ReadAt,
// WriteAt and Close may be called concurrently; Read, Write, Seek and ReadDir
// share an offset and are for one goroutine at a time. The context that the file
// was opened with ends every method but Close.
type File struct {
	f       FS
	ctx     context.Context //nolint:containedctx // fs.File has no room for one
	name    string
	uri     wire.URI
	mode    wire.FSOpenMode
	first   wire.FSMetadata // when it was opened to be read
	off     int64
	ahead   []byte        // what was read beyond off
	entries []fs.DirEntry // of a folder, once it was read; those that were not returned
	listed  bool

	mu     sync.Mutex
	l      *link // whose handle id is; nil for a folder
	id     string
	closed bool
}

var (
	_ fs.ReadDirFile = (*File)(nil)
	_ io.ReaderAt    = (*File)(nil)
	_ io.WriterAt    = (*File)(nil)
	_ io.WriteSeeker = (*File)(nil)
)

// Open opens a file to be read, or a folder to be listed.
//
// A file that is open to be read outlives its connection: it is opened again by
// its name, and fails with ErrReplaced when there is another file by then. To
// tell that, the times and the size that the server reports are compared: of
// servers that know when a file was made that alone, of others the time of the
// last change and the size.
func (f FS) Open(ctx context.Context, name string) (*File, error) {
	info, err := f.Stat(ctx, name)
	if err != nil {
		return nil, pathError("open", name, errors.Unwrap(err))
	}
	file := &File{f: f, ctx: ctx, name: name, mode: wire.FSOpenRead, first: info.Sys().(wire.FSMetadata)} //nolint:forcetypeassert // by Stat
	if info.IsDir() {
		return file, nil
	}
	return file, file.open()
}

// Create opens a file to be written. The file is made when it is missing and
// emptied when it is not.
//
// A file that is open to be written ends with its connection, with
// ErrDisconnected: to open it again would empty it. WriteFile begins anew. Create
// fails with ErrNoMethod when the server does not have fs/writeBlock.
func (f FS) Create(ctx context.Context, name string) (*File, error) {
	if _, err := f.c.ready(ctx); err != nil {
		return nil, pathError("open", name, err)
	}
	if !f.c.writesBlocks() {
		return nil, pathError("open", name, fmt.Errorf("%w: %s", ErrNoMethod, wire.MethodFSWriteBlock))
	}
	file := &File{f: f, ctx: ctx, name: name, mode: wire.FSOpenReplace}
	if err := file.open(); err != nil {
		return nil, err
	}
	return file, nil
}

// open opens a file over the connection that there is.
func (f *File) open() error {
	c := f.f.c
	l, err := c.ready(f.ctx)
	if err == nil && f.uri == "" {
		f.uri, err = c.uri(f.name)
	}
	if err != nil {
		return pathError("open", f.name, err)
	}
	id := newHandleID()
	late := func() { c.request(l, wire.MethodFSClose, wire.FSCloseParams{HandleID: id}) } // the caller does not know of it
	err = l.call(f.ctx, wire.MethodFSOpen, wire.FSOpenParams{HandleID: id, Path: f.uri, Mode: f.mode, Sandbox: f.f.sandbox}, nil, late)
	if err != nil {
		return pathError("open", f.name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		late()
		return f.failed("open", fs.ErrClosed)
	}
	f.l, f.id = l, id
	return nil
}

// newHandleID makes an id of at most 32 bytes, the most that servers take.
func newHandleID() string {
	id := newID()
	return id[:min(len(id), 32)]
}

func (f *File) failed(op string, err error) error { return pathError(op, f.name, err) }

// handle is what requests about the file name.
func (f *File) handle() (*link, string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
		return nil, "", fs.ErrClosed
	case f.l == nil:
		return nil, "", errors.New("is a directory")
	}
	return f.l, f.id, nil
}

// Name returns the name that the file was opened with.
func (f *File) Name() string { return f.name }

// Stat describes the file that has the name at the moment.
func (f *File) Stat() (fs.FileInfo, error) {
	f.mu.Lock()
	closed := f.closed
	f.mu.Unlock()
	if closed {
		return nil, f.failed("stat", fs.ErrClosed)
	}
	return f.f.Stat(f.ctx, f.name)
}

// ReadAt implements io.ReaderAt. Pieces of 1 MiB are asked for one by one.
func (f *File) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 {
		return 0, f.failed("read", fs.ErrInvalid)
	}
	n := 0
	for n < len(b) {
		r, err := f.block(uint64(off)+uint64(n), min(len(b)-n, wire.MaxReadBlock))
		if err != nil {
			return n, f.failed("read", err)
		}
		n += copy(b[n:], r.Chunk)
		if r.EOF && n < len(b) || len(r.Chunk) == 0 {
			return n, io.EOF
		}
	}
	return n, nil
}

// block reads a piece, also when the connection is cut meanwhile.
func (f *File) block(off uint64, want int) (wire.FSReadBlockResult, error) {
	for tries := 0; ; tries++ {
		var r wire.FSReadBlockResult
		l, id, err := f.handle()
		if err == nil {
			err = l.call(f.ctx, wire.MethodFSReadBlock, wire.FSReadBlockParams{HandleID: id, Offset: off, Len: uint(want)}, &r, nil)
		}
		switch {
		case err == nil && len(r.Chunk) > want:
			return r, &ProtocolError{Err: fmt.Errorf("%d bytes for %d", len(r.Chunk), want)}
		case !errors.Is(err, ErrDisconnected) || f.mode != wire.FSOpenRead || tries == reopenings:
			return r, err
		}
		if err := f.reopen(); err != nil && !errors.Is(err, ErrDisconnected) {
			return r, errors.Unwrap(err)
		}
	}
}

// reopen opens the file again over another connection.
func (f *File) reopen() error {
	if err := f.open(); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	now := info.Sys().(wire.FSMetadata) //nolint:forcetypeassert // by Stat
	same := now.CreatedAtMs == f.first.CreatedAtMs
	if now.CreatedAtMs == 0 {
		same = same && now.ModifiedAtMs == f.first.ModifiedAtMs && now.Size == f.first.Size
	}
	if !same {
		return f.failed("read", ErrReplaced)
	}
	return nil
}

// readAhead is how much Read asks for at least: small reads are not a request
// each.
const readAhead = 64 << 10

// Read implements io.Reader. It reads 64 KiB ahead.
func (f *File) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if _, _, err := f.handle(); err != nil {
		return 0, f.failed("read", err)
	}
	if len(f.ahead) == 0 {
		r, err := f.block(uint64(f.off), min(max(len(b), readAhead), wire.MaxReadBlock))
		if err != nil {
			return 0, f.failed("read", err)
		}
		f.ahead = r.Chunk
	}
	n := copy(b, f.ahead)
	f.ahead = f.ahead[n:]
	f.off += int64(n)
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// readAll reads from the beginning to the end.
func (f *File) readAll() ([]byte, error) {
	size := int64(f.first.Size)
	data := make([]byte, 0, min(size, 64<<20)+1)
	for {
		want := wire.MaxReadBlock
		if left := size - int64(len(data)); left >= 0 && left < int64(want) {
			want = int(left) + 1 // the last piece tells that there is no more
		}
		r, err := f.block(uint64(len(data)), want)
		if err != nil {
			return nil, f.failed("read", err)
		}
		data = append(data, r.Chunk...)
		if r.EOF || len(r.Chunk) == 0 {
			return data, nil
		}
	}
}

// Seek implements io.Seeker.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += f.off
	case io.SeekEnd:
		info, err := f.Stat()
		if err != nil {
			return 0, err
		}
		offset += info.Size()
	default:
		return 0, f.failed("seek", fs.ErrInvalid)
	}
	if offset < 0 {
		return 0, f.failed("seek", fs.ErrInvalid)
	}
	f.off, f.ahead = offset, nil
	return offset, nil
}

// Write implements io.Writer for a file that Create has opened.
func (f *File) Write(b []byte) (int, error) {
	n, err := f.WriteAt(b, f.off)
	f.off += int64(n)
	return n, err
}

// WriteAt implements io.WriterAt for a file that Create has opened. Pieces of
// 1 MiB are sent one by one.
func (f *File) WriteAt(b []byte, off int64) (int, error) {
	if off < 0 {
		return 0, f.failed("write", fs.ErrInvalid)
	}
	n := 0
	for n < len(b) {
		l, id, err := f.handle()
		piece := b[n:min(n+wire.MaxReadBlock, len(b))]
		if err == nil {
			err = l.call(f.ctx, wire.MethodFSWriteBlock, wire.FSWriteBlockParams{HandleID: id, Offset: uint64(off) + uint64(n), Chunk: piece}, nil, nil)
		}
		if err != nil {
			return n, f.failed("write", err)
		}
		n += len(piece)
	}
	return n, nil
}

// ReadDir implements fs.ReadDirFile for a folder.
func (f *File) ReadDir(n int) ([]fs.DirEntry, error) {
	if _, _, err := f.handle(); err == nil {
		return nil, f.failed("readdir", errors.New("not a directory"))
	} else if errors.Is(err, fs.ErrClosed) {
		return nil, f.failed("readdir", err)
	}
	if !f.listed {
		all, err := f.f.ReadDir(f.ctx, f.name)
		if err != nil {
			return nil, err
		}
		f.entries, f.listed = all, true
	}
	if n <= 0 {
		n = len(f.entries)
	} else if len(f.entries) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(f.entries))
	out := f.entries[:n:n]
	f.entries = f.entries[n:]
	return out, nil
}

// Close closes the file. Closing it again returns fs.ErrClosed. A connection that
// has ended has closed a file that was open to be read.
func (f *File) Close() error {
	f.mu.Lock()
	l, id, closed := f.l, f.id, f.closed
	f.closed = true
	f.mu.Unlock()
	switch {
	case closed:
		return f.failed("close", fs.ErrClosed)
	case l == nil:
		return nil
	}
	c := f.f.c
	ctx, cancel := context.WithTimeout(c.ctx, c.opt.InitializeTimeout)
	defer cancel()
	err := l.call(ctx, wire.MethodFSClose, wire.FSCloseParams{HandleID: id}, nil, nil)
	if f.mode == wire.FSOpenRead && (errors.Is(err, ErrDisconnected) || errors.Is(err, ErrClosed)) {
		err = nil
	}
	return f.failed("close", err)
}
