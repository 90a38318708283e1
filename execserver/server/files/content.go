package files

import (
	"context"
	"io"
	"os"
	"syscall"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/sys"
)

// ReadFile reads a whole file.
func (f *Files) ReadFile(ctx context.Context, p wire.FSReadFileParams) (wire.FSReadFileResult, *wire.Error) {
	var none wire.FSReadFileResult
	path, bad := native(p.Sandbox, p.Path)
	if bad != nil {
		return none, bad
	}
	var file *os.File
	var err error
	if yes(p.FollowSymlinks) {
		file, err = openRegular(path)
	} else {
		file, err = sys.OpenPlain(path, os.O_RDONLY, 0o666)
		if err == nil {
			err = regular(file, wire.InvalidRequest("path is not a regular file"))
		}
	}
	if err != nil {
		return none, failure(err)
	}
	defer file.Close()
	data, err := f.readAll(ctx, file)
	if err != nil {
		return none, failure(err)
	}
	return wire.FSReadFileResult{Data: data}, nil
}

// openRegular opens a regular file to read it, and nothing else: what is no
// file is not even opened.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, notFile(path)
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return file, regular(file, notFile(path))
}

// regular closes a file that is none.
func regular(file *os.File, otherwise *wire.Error) error {
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = otherwise
	}
	if err != nil {
		_ = file.Close()
	}
	return err
}

// readAll reads a file that may grow meanwhile, or that has no size (those of
// the kernel), up to the limit. Memory is taken as bytes come.
func (f *Files) readAll(ctx context.Context, file *os.File) ([]byte, error) {
	tooLarge := wire.InvalidRequest("file is too large to read: limit is %d bytes", f.limits.ReadFile)
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > f.limits.ReadFile {
		return nil, tooLarge
	}
	data := make([]byte, 0, info.Size()+512)
	for {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		// In pieces, so that a client that has left is noticed.
		n, err := file.Read(data[len(data):min(cap(data), len(data)+4<<20)])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > f.limits.ReadFile:
			return nil, tooLarge
		case err == io.EOF:
			return data, nil
		case err != nil:
			return nil, err
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
	}
}

// WriteFile makes or replaces a file. Its folder must exist.
func (f *Files) WriteFile(ctx context.Context, p wire.FSWriteFileParams) *wire.Error {
	data, err := wire.DecodeBase64([]byte(p.DataBase64))
	if err != nil {
		return wire.InvalidRequest("fs/writeFile requires valid base64 dataBase64: %s", err)
	}
	path, bad := native(p.Sandbox, p.Path)
	if bad != nil {
		return bad
	}
	var file *os.File
	if yes(p.FollowSymlinks) {
		file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|syscall.O_NONBLOCK, 0o666)
	} else {
		file, err = sys.OpenPlain(path, os.O_WRONLY|os.O_CREATE, 0o666)
	}
	if err != nil {
		return failure(err)
	}
	defer file.Close()
	// Emptied only now: before, it was not known to be a file.
	if err := truncate(file, notFile(path)); err != nil {
		return failure(err)
	}
	for len(data) > 0 {
		if ctx.Err() != nil {
			return failure(ctx.Err())
		}
		n := min(len(data), 4<<20)
		if _, err := file.Write(data[:n]); err != nil {
			return failure(err)
		}
		data = data[n:]
	}
	return nil
}

// truncate empties a regular file. The devices that take anything are passed
// over, others and fifos are refused: writing to them may wait for ever.
func truncate(file *os.File, otherwise *wire.Error) error {
	info, err := file.Stat()
	switch {
	case err != nil:
		return err
	case info.Mode().IsRegular():
		return file.Truncate(0)
	case sys.Discards(info):
		return nil
	}
	return otherwise
}
