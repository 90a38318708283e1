package files

import (
	"context"
	"io"
	"os"
	"slices"
	"syscall"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/sys"
)

// readFile reads a whole file.
func (f *Files) readFile(ctx context.Context, p *wire.FSReadFileParams) (any, error) {
	path, bad := p.Path.Native()
	if bad != nil {
		return nil, bad
	}
	var file *os.File
	var err error
	if yes(p.FollowSymlinks) {
		file, err = openRegular(path)
	} else if file, err = sys.OpenPlain(path, os.O_RDONLY, 0o666); err == nil {
		err = regular(file, wire.InvalidRequest("path is not a regular file"))
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := f.readAll(ctx, file)
	if err != nil {
		return nil, err
	}
	return &wire.FSReadFileResult{Data: data}, nil
}

// openRegular opens a regular file for reading. It does not open anything else,
// not even for a moment.
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

// regular returns otherwise, and closes file, unless it is a regular file.
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

// pieceBytes is how much is read or written at a time, before ctx is looked at
// again.
const pieceBytes = 4 << 20

// readAll reads a file up to the limit. The file may grow meanwhile, or have no
// size, as those of the kernel. Memory is taken as bytes come.
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
		n, err := file.Read(data[len(data):min(cap(data), len(data)+pieceBytes)])
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

// writeFile makes or replaces a file. Its folder must exist.
func (f *Files) writeFile(ctx context.Context, p *wire.FSWriteFileParams) (any, error) {
	data, err := wire.DecodeBase64([]byte(p.DataBase64))
	if err != nil {
		return nil, wire.InvalidRequest("fs/writeFile requires valid base64 dataBase64: %s", err)
	}
	path, bad := p.Path.Native()
	if bad != nil {
		return nil, bad
	}
	var file *os.File
	if yes(p.FollowSymlinks) {
		file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|syscall.O_NONBLOCK, 0o666)
	} else {
		file, err = sys.OpenPlain(path, os.O_WRONLY|os.O_CREATE, 0o666)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	// Emptied only now: before, it was not known to be a file.
	if err := truncate(file, notFile(path)); err != nil {
		return nil, err
	}
	for piece := range slices.Chunk(data, pieceBytes) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if _, err := file.Write(piece); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// truncate empties a regular file. It passes over devices that discard what is
// written, and returns otherwise for other devices and for fifos: a write to them
// may block for ever.
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
