package attach

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec/jsonrpc"
)

func TestOpeningIsFoundByTheFirstByte(t *testing.T) {
	for text, want := range map[string]string{
		"Content-Length: 2\r\n\r\n{}": "jsonrpc-headers", "content-type: x\r\n": "jsonrpc-headers", "\n \t{}\n": "jsonrpc-lines", "[{}]\n": "jsonrpc-lines",
		"\x94\x00": "msgpack-rpc", "\x93\x02": "msgpack-rpc", "\x00{": "", "5": "",
	} {
		r := bufio.NewReader(strings.NewReader(text))
		name, first, err := Opening(r)
		if err != nil || name != want {
			t.Errorf("%q: %q %v", text, name, err)
		}
		if rest, err := io.ReadAll(r); err != nil || string(rest) != strings.TrimLeft(text, " \t\n") || first != rest[0] {
			t.Errorf("%q: %#02x, then %q %v", text, first, rest, err)
		}
	}
	if name, _, err := Opening(bufio.NewReader(strings.NewReader(" \n"))); name != "" || !errors.Is(err, io.EOF) {
		t.Errorf("%q %v", name, err)
	}
}

// The server of a door gets all that its program has sent, and a program of another protocol gets none.
func TestDoorWithSeveralServers(t *testing.T) {
	serve := func(name string) func(context.Context, io.ReadWriteCloser) error {
		return func(_ context.Context, rw io.ReadWriteCloser) error {
			all, err := io.ReadAll(rw)
			return errors.Join(err, errors.New(name+" "+string(all)))
		}
	}
	d := Door{{jsonrpc.Lines(jsonrpc.Options{}), serve("lines")}, {jsonrpc.Headers(jsonrpc.Options{}), serve("headers")}}
	attached := func(ctx context.Context) (net.Conn, <-chan error) {
		near, far := net.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- d.serve(ctx, "code", far) }()
		return near, ended
	}
	for text, want := range map[string]string{"{}\n": "lines {}\n", "Content-Length: 0\r\n": "headers Content-Length: 0\r\n"} {
		near, ended := attached(t.Context())
		if _, err := near.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		_ = near.Close()
		if err := <-ended; err == nil || err.Error() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	near, ended := attached(t.Context())
	if _, err := near.Write([]byte{0x93}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, ErrOpening) || err.Error() != `host "code": the program speaks no protocol of the host: its first byte is 0x93, which begins no message of jsonrpc-lines or jsonrpc-headers` {
		t.Error(err)
	}
	if _, err := near.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the stream is open: %v", err)
	}
	near, ended = attached(t.Context())
	_ = near.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	_, ended = attached(ctx)
	gone := errors.New("gone")
	cancel(gone)
	if err := <-ended; !errors.Is(err, gone) {
		t.Error(err)
	}
}
