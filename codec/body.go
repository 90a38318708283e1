package codec

import (
	"errors"
	"io"
)

// ReadBody reads n bytes, which a frame claims to have. Its memory grows only as the bytes
// arrive. After an error it returns the bytes that it has read; the end of the stream is
// io.ErrUnexpectedEOF.
func ReadBody(src io.Reader, n int) ([]byte, error) {
	body := make([]byte, min(n, 64<<10))
	have := 0
	for {
		got, err := io.ReadFull(src, body[have:])
		if have += got; err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return body[:have], err
		}
		if have == n {
			return body, nil
		}
		grown := make([]byte, min(n, 4*have))
		copy(grown, body)
		body = grown
	}
}
