package capture

import (
	"compress/gzip"
	"errors"
	"io"
	"time"
)

// Packer compresses files and reads them again. A program that hands none to its logs
// does not link the code for it.
type Packer interface {
	// Pack returns a writer to w, which Close finishes. modified is when the original
	// was written last.
	Pack(w io.Writer, modified time.Time) (io.WriteCloser, error)
	Unpack(r io.Reader) (io.Reader, error)
}

// errPacked is why compressed files cannot be read.
var errPacked = errors.New("it is compressed, and this program is made without the code to read it")

// Gzip is the format of gzip.
type Gzip struct{}

// Pack implements [Packer] with the fastest level, because hosts run beside it.
func (Gzip) Pack(w io.Writer, modified time.Time) (io.WriteCloser, error) {
	gz, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err == nil {
		gz.ModTime = modified
	}
	return gz, err
}

// Unpack implements [Packer].
func (Gzip) Unpack(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }
