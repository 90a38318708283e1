package peers

import (
	"context"
	"errors"
	"io"
	"net"
)

// barePeer reads and writes the payload as it is, in the caller's goroutine:
// the limit that any protocol over a unix socket can come near.
func barePeer() Peer {
	const name = "bare-socket"
	return Peer{
		Name:       name,
		Sequential: true,
		Dial: func() (Conn, error) {
			s, err := startServer(name)
			if err != nil {
				return nil, err
			}
			nc, err := s.dial()
			if err != nil {
				return nil, errors.Join(err, s.Close())
			}
			return &bare{nc: nc, server: s}, nil
		},
		Serve: func(l net.Listener, _ <-chan struct{}) error {
			nc, err := l.Accept()
			if err != nil {
				return err
			}
			defer nc.Close()
			buf := make([]byte, 64<<10)
			for {
				n, err := nc.Read(buf)
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err != nil {
					return err
				}
				if _, err := nc.Write(buf[:n]); err != nil {
					return err
				}
			}
		},
	}
}

type bare struct {
	nc     net.Conn
	server *server
	buf    []byte
}

func (b *bare) Echo(_ context.Context, payload []byte) ([]byte, error) {
	if _, err := b.nc.Write(payload); err != nil {
		return nil, err
	}
	if len(b.buf) < len(payload) {
		b.buf = make([]byte, len(payload))
	}
	n, err := io.ReadFull(b.nc, b.buf[:len(payload)])
	return b.buf[:n], err
}

func (b *bare) Close() error { return errors.Join(b.nc.Close(), b.server.Close()) }
