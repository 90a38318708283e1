package files

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"syscall"

	"github.com/hostsup/hostsup/execserver/wire"
)

// handle is an open file; f is nil while it is being opened.
type handle struct {
	f      *os.File
	writes bool // it was opened to be replaced
}

// maxHandleID is how many bytes a client's name for a handle may have.
const maxHandleID = 32

// open opens a file under a name of the client's, to be read, or emptied and
// written.
func (f *Files) open(_ context.Context, p *wire.FSOpenParams) (any, error) {
	if len(p.HandleID) > maxHandleID {
		return nil, wire.InvalidRequest("file handle ID must not exceed %d bytes", maxHandleID)
	}
	h := &handle{writes: p.Mode == wire.FSOpenReplace}
	if err := f.reserve(p.HandleID, h); err != nil {
		return nil, err
	}
	file, err := openHandle(p)
	if err != nil {
		f.drop(p.HandleID, h)
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.handles[p.HandleID] != h { // closed meanwhile
		_ = file.Close()
		return nil, unknownHandle(p.HandleID)
	}
	h.f = file
	return &wire.FSOpenResult{HandleID: p.HandleID}, nil
}

func (f *Files) reserve(id string, h *handle) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
		return os.ErrClosed
	case f.handles[id] != nil:
		return wire.InvalidRequest("file handle `%s` already exists", id)
	case len(f.handles) >= f.limits.Handles:
		return wire.InvalidRequest("at most %d file handles may be open per connection", f.limits.Handles)
	}
	f.handles[id] = h
	return nil
}

func openHandle(p *wire.FSOpenParams) (*os.File, error) {
	path, bad := p.Path.Native()
	if bad != nil {
		return nil, bad
	}
	if p.Mode != wire.FSOpenReplace {
		return openRegular(path)
	}
	// Opening a device may have an effect.
	if info, err := os.Stat(path); err == nil && info.Mode()&os.ModeDevice != 0 {
		return nil, notFile(path)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|syscall.O_NONBLOCK, 0o666)
	if err != nil {
		return nil, err
	}
	if err := regular(file, notFile(path)); err != nil {
		return nil, err
	}
	if err := file.Truncate(0); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// drop forgets a handle and closes it.
func (f *Files) drop(id string, h *handle) {
	f.mu.Lock()
	if f.handles[id] == h {
		delete(f.handles, id)
	}
	file := h.f
	f.mu.Unlock()
	if file != nil {
		_ = file.Close()
	}
}

func unknownHandle(id string) error { return wire.NotFound("unknown file handle `%s`", id) }

func (f *Files) handle(id string) (*handle, *os.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.handles[id]
	if h == nil || h.f == nil {
		return nil, nil, unknownHandle(id)
	}
	return h, h.f, nil
}

// use calls do with an open file. An error of the system ends the handle.
func (f *Files) use(id string, do func(*os.File) error) error {
	h, file, err := f.handle(id)
	if err != nil {
		return err
	}
	err = do(file)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrClosed): // by fs/close, meanwhile
		return unknownHandle(id)
	}
	f.drop(id, h)
	return err
}

// readBlock reads a piece of an open file.
func (f *Files) readBlock(_ context.Context, p *wire.FSReadBlockParams) (any, error) {
	if p.Len < 1 || p.Len > wire.MaxReadBlock {
		return nil, wire.InvalidRequest("file read block length must be between 1 and %d", wire.MaxReadBlock)
	}
	out := &wire.FSReadBlockResult{}
	err := f.use(p.HandleID, func(file *os.File) error {
		if p.Offset > math.MaxInt64 {
			return syscall.EINVAL
		}
		info, err := file.Stat()
		if err != nil {
			return err
		}
		// No more memory than there is to read; a file without a size may have any.
		size := int(p.Len)
		if left := info.Size() - int64(p.Offset); info.Size() > 0 && left < int64(size) {
			size = int(max(left, 0)) + 1
		}
		out.Chunk = make([]byte, min(size, int(p.Len)))
		n, err := file.ReadAt(out.Chunk, int64(p.Offset))
		out.Chunk, out.EOF = out.Chunk[:n], n < int(p.Len)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return err
	})
	return out, err
}

// writeBlock writes a piece into a file that is open to be replaced.
func (f *Files) writeBlock(_ context.Context, p *wire.FSWriteBlockParams) (any, error) {
	if len(p.Chunk) < 1 || len(p.Chunk) > wire.MaxReadBlock {
		return nil, wire.InvalidRequest("file write block length must be between 1 and %d", wire.MaxReadBlock)
	}
	if p.Offset > math.MaxInt64-uint64(len(p.Chunk)) {
		return nil, wire.InvalidRequest("file write range exceeds the signed 64-bit file offset limit")
	}
	h, _, err := f.handle(p.HandleID)
	switch {
	case err != nil:
		return nil, err
	case !h.writes: // a mistake of the client's, which does not end the handle
		return nil, syscall.EBADF
	}
	return nil, f.use(p.HandleID, func(file *os.File) error {
		_, err := file.WriteAt(p.Chunk, int64(p.Offset))
		return err
	})
}

// closeHandle closes an open file. It is not an error if none is open.
func (f *Files) closeHandle(_ context.Context, p *wire.FSCloseParams) (any, error) {
	f.mu.Lock()
	h := f.handles[p.HandleID]
	f.mu.Unlock()
	if h != nil {
		f.drop(p.HandleID, h)
	}
	return nil, nil
}
