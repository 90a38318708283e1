package busypoll

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"
)

// pairs opens each kind of stream that hosts and servers are read from.
func pairs(t *testing.T) map[string]func() (src Source, peer io.WriteCloser) {
	return map[string]func() (Source, io.WriteCloser){
		"pipe": func() (Source, io.WriteCloser) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			return r, w
		},
		"tcp": func() (Source, io.WriteCloser) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			peer, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			return c.(Source), peer
		},
	}
}

func TestReaderReturnsEveryByteInOrder(t *testing.T) {
	for name, open := range pairs(t) {
		t.Run(name, func(t *testing.T) {
			src, peer := open()
			defer src.(io.Closer).Close()
			want := make([]byte, 1<<20)
			for i := range want {
				want[i] = byte(rand.Uint32())
			}
			sent := make(chan error, 1)
			go func() {
				for rest := want; len(rest) > 0; {
					n := min(len(rest), 1+rand.IntN(9000))
					if _, err := peer.Write(rest[:n]); err != nil {
						sent <- err
						return
					}
					rest = rest[n:]
				}
				sent <- peer.Close()
			}()
			got, err := io.ReadAll(NewReader(src))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
			}
			if err := <-sent; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestReaderEndsWithItsSource(t *testing.T) {
	for name, open := range pairs(t) {
		t.Run(name, func(t *testing.T) {
			src, peer := open()
			defer peer.Close()
			r := NewReader(src)
			ended := make(chan error, 1)
			go func() {
				_, err := r.Read(make([]byte, 10))
				ended <- err
			}()
			if err := src.(io.Closer).Close(); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; !errors.Is(err, os.ErrClosed) && !errors.Is(err, net.ErrClosed) {
				t.Error(err)
			}
			if _, err := NewReader(src).Read(make([]byte, 10)); err == nil {
				t.Error("a closed source was read")
			}
		})
	}
}

func TestReaderKeepsDeadlines(t *testing.T) {
	for name, open := range pairs(t) {
		t.Run(name, func(t *testing.T) {
			src, peer := open()
			defer src.(io.Closer).Close()
			defer peer.Close()
			if err := src.(interface{ SetReadDeadline(time.Time) error }).SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			if n, err := NewReader(src).Read(make([]byte, 10)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%d, %v", n, err)
			}
		})
	}
}

func TestConnWrapsOnlyPollableConnections(t *testing.T) {
	src, peer := pairs(t)["tcp"]()
	c := Conn(src.(net.Conn))
	defer c.Close()
	if _, err := peer.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := peer.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
	a, b := net.Pipe() // unknown to the poller
	defer a.Close()
	defer b.Close()
	if Conn(a) != a {
		t.Error("a pipe in memory was wrapped")
	}
}
