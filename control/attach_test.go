package control_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
)

// Input must come out at the other end, both ways at once, and the end of one way
// must not end the other.
func TestAttach(t *testing.T) {
	const size = 8 << 20
	c := one(t, func(_ *controltest.Supervisor, h *controltest.Host) {
		h.OnAttach = func(_ context.Context, rw io.ReadWriteCloser) error {
			if _, err := rw.Write([]byte("hello\n")); err != nil { // before any input
				return err
			}
			n, err := io.Copy(rw, rw)
			if err == nil && n != size {
				err = errors.New("it has not all come")
			}
			if _, werr := rw.Write([]byte("bye\n")); werr != nil { // after the other way has ended
				return werr
			}
			return err
		}
	})
	want := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	var got bytes.Buffer
	if err := c.Attach(t.Context(), "ts", bytes.NewReader(want), &got); err != nil {
		t.Fatal(err)
	}
	if s := got.String(); !strings.HasPrefix(s, "hello\n") || !strings.HasSuffix(s, "bye\n") || s[len("hello\n"):len(s)-len("bye\n")] != string(want) {
		t.Errorf("%d bytes came back", len(s))
	}
}

// A detached program must learn the reason.
func TestAttachEnds(t *testing.T) {
	c := one(t, func(_ *controltest.Supervisor, h *controltest.Host) {
		h.OnAttach = func(_ context.Context, rw io.ReadWriteCloser) error {
			b := make([]byte, 1)
			if _, err := rw.Read(b); err != nil {
				return err
			}
			return errors.Join(rw.Close(), &actors.HostError{Host: "ts", Err: actors.ErrFailed, Reason: "gone"})
		}
	})
	never, stop := io.Pipe()
	defer stop.Close()
	in := io.MultiReader(strings.NewReader("x"), never)
	if err := c.Attach(t.Context(), "ts", in, io.Discard); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("detached: %v", err)
	}
	if err := c.Attach(t.Context(), "nobody", never, io.Discard); class(err) != control.NoSuchHost {
		t.Errorf("nobody: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Attach(ctx, "ts", never, io.Discard); class(err) != control.Cancelled {
		t.Errorf("cancelled: %v", err)
	}
	if err := c.Attach(t.Context(), "ts", strings.NewReader("x"), failing{}); err == nil {
		t.Error("no error although the output is closed")
	}
	if err := c.Attach(t.Context(), "ts", iotest.ErrReader(errors.New("torn")), io.Discard); err == nil {
		t.Error("no error although the input is torn")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("closed") }

// Hosts of some protocols cannot be attached to.
func TestAttachRefused(t *testing.T) {
	c := one(t, func(*controltest.Supervisor, *controltest.Host) {})
	if err := c.Attach(t.Context(), "ts", strings.NewReader(""), io.Discard); err == nil || !strings.Contains(err.Error(), "cannot be attached") {
		t.Errorf("%v", err)
	}
}

// A program that goes on sending is told why it was detached: the supervisor takes what it
// sends until the reason was read, and the client of a connection that is closed before does
// not get that far.
func TestAttachEndsWhileItSends(t *testing.T) {
	c := one(t, func(_ *controltest.Supervisor, h *controltest.Host) {
		h.OnAttach = func(_ context.Context, rw io.ReadWriteCloser) error {
			if _, err := io.ReadFull(rw, make([]byte, 1<<16)); err != nil {
				return err
			}
			return errors.Join(rw.Close(), fmt.Errorf("%w: no message", attach.ErrClient))
		}
	})
	for range 50 {
		if err := c.Attach(t.Context(), "ts", zeros{}, io.Discard); class(err) != control.Invalid || !strings.Contains(err.Error(), "no message") {
			t.Fatalf("detached: %v", err)
		}
	}
}

// zeros is input without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// A refused program does not get another answer, which would be for the messages that it
// sends behind its request.
func TestAttachRefusedOnce(t *testing.T) {
	addr := console(t, everything(), control.Options{}, control.Access{})
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/hosts/nobody/attach HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n", addr, secretOf(control.RoleFull))
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusNotFound || !res.Close {
		t.Errorf("%d, the connection ends: %v: %s", res.StatusCode, res.Close, text)
	}
}
