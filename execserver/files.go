package execserver

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hostsup/hostsup/execserver/wire"
)

// FS is the server's files. Its methods are those of the wire; errors are
// *RequestError, of which fs.ErrNotExist and others can be asked by errors.Is.
type FS struct{ c *Client }

// FS returns the server's files.
func (c *Client) FS() FS { return FS{c} }

// ReadFile reads a whole file of at most 512 MiB.
func (f FS) ReadFile(ctx context.Context, p wire.FSReadFileParams) ([]byte, error) {
	var r wire.FSReadFileResult
	err := f.c.Call(ctx, wire.MethodFSReadFile, p, &r)
	return r.Data, err
}

// WriteFile replaces a file's content, and makes the file when it is missing.
// p.DataBase64 is made of data. Servers take about 12 MiB; see Open for more.
func (f FS) WriteFile(ctx context.Context, p wire.FSWriteFileParams, data []byte) error {
	p.DataBase64 = base64.StdEncoding.EncodeToString(data)
	return f.c.Call(ctx, wire.MethodFSWriteFile, p, nil)
}

// CreateDirectory makes a folder.
func (f FS) CreateDirectory(ctx context.Context, p wire.FSCreateDirectoryParams) error {
	return f.c.Call(ctx, wire.MethodFSCreateDirectory, p, nil)
}

// GetMetadata says what a path is.
func (f FS) GetMetadata(ctx context.Context, p wire.FSGetMetadataParams) (wire.FSMetadata, error) {
	var r wire.FSMetadata
	err := f.c.Call(ctx, wire.MethodFSGetMetadata, p, &r)
	return r, err
}

// Canonicalize returns a path without links.
func (f FS) Canonicalize(ctx context.Context, p wire.FSCanonicalizeParams) (wire.URI, error) {
	var r wire.FSCanonicalizeResult
	err := f.c.Call(ctx, wire.MethodFSCanonicalize, p, &r)
	return r.Path, err
}

// ReadDirectory returns the entries of a folder, in no order.
func (f FS) ReadDirectory(ctx context.Context, p wire.FSReadDirectoryParams) ([]wire.FSDirEntry, error) {
	var r wire.FSReadDirectoryResult
	err := f.c.Call(ctx, wire.MethodFSReadDirectory, p, &r)
	return r.Entries, err
}

// Walk returns what is below a folder.
func (f FS) Walk(ctx context.Context, p wire.FSWalkParams) (wire.FSWalkResult, error) {
	var r wire.FSWalkResult
	err := f.c.Call(ctx, wire.MethodFSWalk, p, &r)
	return r, err
}

// Remove removes a file, a link or a tree.
func (f FS) Remove(ctx context.Context, p wire.FSRemoveParams) error {
	return f.c.Call(ctx, wire.MethodFSRemove, p, nil)
}

// Copy copies a file, a link or a tree.
func (f FS) Copy(ctx context.Context, p wire.FSCopyParams) error {
	return f.c.Call(ctx, wire.MethodFSCopy, p, nil)
}

// Open opens a file. An empty HandleID is given a fresh one. The file is the
// connection's: when that ends, so does the file, with ErrDisconnected.
func (f FS) Open(ctx context.Context, p wire.FSOpenParams) (*File, error) {
	if p.HandleID == "" {
		p.HandleID = newID()
	}
	l, err := f.c.ready(ctx)
	if err != nil {
		return nil, err
	}
	file := &File{l: l, id: p.HandleID}
	late := func() { f.c.work(func() { _ = file.Close() }) } // nobody knows of it
	if err := l.call(ctx, wire.MethodFSOpen, p, nil, late); err != nil {
		return nil, err
	}
	return file, nil
}

// File is an open file on the server. It is safe for concurrent use.
type File struct {
	l    *link
	id   string
	once sync.Once
	err  error
}

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(b []byte, off int64) (int, error) {
	return f.ReadAtContext(context.Background(), b, off)
}

// ReadAtContext is ReadAt that ends with ctx.
func (f *File) ReadAtContext(ctx context.Context, b []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("negative offset")
	}
	n := 0
	for n < len(b) {
		want := min(len(b)-n, wire.MaxReadBlock)
		var r wire.FSReadBlockResult
		err := f.l.call(ctx, wire.MethodFSReadBlock, wire.FSReadBlockParams{HandleID: f.id, Offset: uint64(off) + uint64(n), Len: uint(want)}, &r, nil)
		if err != nil {
			return n, err
		}
		if len(r.Chunk) > want {
			return n, &ProtocolError{Err: fmt.Errorf("%d bytes for %d", len(r.Chunk), want)}
		}
		n += copy(b[n:], r.Chunk)
		if r.EOF && n < len(b) || len(r.Chunk) == 0 {
			return n, io.EOF
		}
	}
	return n, nil
}

// WriteAt implements io.WriterAt, for files opened with wire.FSOpenReplace.
func (f *File) WriteAt(b []byte, off int64) (int, error) {
	return f.WriteAtContext(context.Background(), b, off)
}

// WriteAtContext is WriteAt that ends with ctx.
func (f *File) WriteAtContext(ctx context.Context, b []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("negative offset")
	}
	n := 0
	for n < len(b) {
		piece := b[n:min(n+wire.MaxReadBlock, len(b))]
		err := f.l.call(ctx, wire.MethodFSWriteBlock, wire.FSWriteBlockParams{HandleID: f.id, Offset: uint64(off) + uint64(n), Chunk: piece}, nil, nil)
		if err != nil {
			return n, err
		}
		n += len(piece)
	}
	return n, nil
}

// Close closes it, once. A connection that has ended has closed it.
func (f *File) Close() error {
	f.once.Do(func() {
		err := f.l.call(context.Background(), wire.MethodFSClose, wire.FSCloseParams{HandleID: f.id}, nil, nil)
		if !errors.Is(err, ErrDisconnected) && !errors.Is(err, ErrClosed) {
			f.err = err
		}
	})
	return f.err
}

// Watch waits for one change. It is the connection's and ends with it.
type Watch struct {
	done chan struct{}
	once sync.Once
	err  error
}

// WatchMissing waits until one of the missing paths may have appeared, or one
// of the present ones has gone. ok is false when there is nothing to wait for,
// for one is there already. p.WatchID 0 is given a fresh one.
func (f FS) WatchMissing(ctx context.Context, p wire.FSWatchMissingParams) (w *Watch, ok bool, err error) {
	l, err := f.c.ready(ctx)
	if err != nil {
		return nil, false, err
	}
	if p.WatchID == 0 {
		p.WatchID = processIDs.Add(1)
	}
	if p.Missing == nil {
		p.Missing = []wire.URI{}
	}
	w = &Watch{done: make(chan struct{})}
	if err := l.addWatch(p.WatchID, w); err != nil {
		return nil, false, err
	}
	var r wire.FSWatchMissingResult
	err = l.call(ctx, wire.MethodFSWatchMissing, p, &r, nil)
	if err != nil || !r.Watching {
		l.takeWatch(p.WatchID)
		return nil, false, err
	}
	return w, true, nil
}

// Done is closed when something has changed, or nothing more will be told.
func (w *Watch) Done() <-chan struct{} { return w.done }

// Err is nil after a change, ErrDisconnected when the connection has ended.
// Valid once Done is closed.
func (w *Watch) Err() error { return w.err }

func (w *Watch) fail(err error) {
	w.once.Do(func() {
		w.err = err
		close(w.done)
	})
}

func (l *link) addWatch(id uint64, w *Watch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end != nil {
		return l.end
	}
	if l.watches[id] != nil {
		return fmt.Errorf("watch %d exists", id)
	}
	if l.watches == nil {
		l.watches = map[uint64]*Watch{}
	}
	l.watches[id] = w
	return nil
}

func (l *link) takeWatch(id uint64) *Watch {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.watches[id]
	delete(l.watches, id)
	return w
}

func (l *link) watchFired(id uint64) {
	if w := l.takeWatch(id); w != nil {
		w.fail(nil)
	}
}
