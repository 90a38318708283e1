package control_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// Input must come out at the other end, both ways at once, and the end of one way
// must not end the other.
func TestAttach(t *testing.T) {
	const size = 8 << 20
	h := controltest.NewHost(record.HostStatus{Name: "ts", State: lifecycle.Running})
	h.Enc = native.New()
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
	sup := &controltest.Supervisor{Members: []*controltest.Host{h}}
	atURL, err := control.NewURLClient("http://"+console(t, sup, control.Options{}, control.Access{}), secretOf(control.RoleFull))
	if err != nil {
		t.Fatal(err)
	}
	known := httptest.NewTLSServer(http.NotFoundHandler()) // it has a certificate
	defer known.Close()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tok, err := control.NewToken("", control.RoleFull, secretOf(control.RoleFull))
	if err != nil {
		t.Fatal(err)
	}
	serveConsole(t, tls.NewListener(tcp, &tls.Config{Certificates: known.TLS.Certificates}), sup, control.Options{}, control.Access{Tokens: []control.Token{tok}})
	trusted := x509.NewCertPool()
	trusted.AddCert(known.Certificate())
	encrypted, err := control.NewURLClient("https://"+tcp.Addr().String(), secretOf(control.RoleFull), control.WithTLS(&tls.Config{RootCAs: trusted}))
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	for name, c := range map[string]*control.Client{"socket": control.NewClient(controltest.Serve(t, sup, control.Options{})), "URL": atURL, "https": encrypted} {
		var got bytes.Buffer
		if err := c.Attach(t.Context(), "ts", bytes.NewReader(want), &got); err != nil {
			t.Fatal(name, err)
		}
		if s := got.String(); !strings.HasPrefix(s, "hello\n") || !strings.HasSuffix(s, "bye\n") || s[len("hello\n"):len(s)-len("bye\n")] != string(want) {
			t.Errorf("%s: %d bytes came back", name, len(s))
		}
		if err := c.Attach(t.Context(), "nobody", bytes.NewReader(want), io.Discard); class(err) != control.NoSuchHost {
			t.Errorf("%s: nobody: %v", name, err)
		}
		c.Close()
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

// What is written at once and what waits arrives in order, also when a program reads nothing
// for a while.
func TestAttachWritesAtOnce(t *testing.T) {
	const lines = 20_000
	full := make(chan struct{})
	c := one(t, func(_ *controltest.Supervisor, h *controltest.Host) {
		h.OnAttach = func(_ context.Context, rw io.ReadWriteCloser) error {
			try := rw.(interface{ TryWrite(p []byte) (int, error) })
			waited := false
			for i := range lines {
				line := fmt.Appendf(nil, "%0*d\n", 1+i%300, i)
				n, err := try.TryWrite(line)
				if err != nil {
					return err
				}
				if n == len(line) {
					continue
				}
				if !waited {
					waited = true
					close(full)
				}
				if _, err := rw.Write(line[n:]); err != nil {
					return err
				}
			}
			if !waited {
				return errors.New("everything was written at once")
			}
			return nil
		}
	})
	a, err := c.Join(t.Context(), "ts")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	<-full
	in := bufio.NewReader(a)
	for i := range lines {
		if line, err := in.ReadString('\n'); err != nil || line != fmt.Sprintf("%0*d\n", 1+i%300, i) {
			t.Fatalf("line %d: %q, %v", i, line, err)
		}
	}
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the end: %v", err)
	}
}

// A supervisor that ends without a last word is lost, and Close ends a Read.
func TestAttachIsLost(t *testing.T) {
	for _, closes := range []bool{false, true} {
		began, ends := make(chan struct{}), make(chan struct{})
		socket := filepath.Join(t.TempDir(), "s")
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			conn, err := l.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			defer l.Close()
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
				t.Error(err)
			}
			fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: hostsup-attach\r\n\r\n\x00\x00\x00\x03ab")
			close(began)
			<-ends
		}()
		a, err := control.NewClient(socket).Join(t.Context(), "ts")
		if err != nil {
			t.Fatal(err)
		}
		<-began
		want := control.Disconnected
		if closes {
			want = control.Cancelled
			_ = a.Close()
		} else {
			close(ends)
		}
		if text, err := io.ReadAll(a); class(err) != want || !closes && string(text) != "ab" {
			t.Errorf("%q, %v", text, err)
		}
		if closes {
			close(ends)
		}
		_ = a.Close()
	}
}

// A program that does not ask for the connection sends its messages in the body of the request.
func TestAttachByBodies(t *testing.T) {
	h := controltest.NewHost(record.HostStatus{Name: "ts", State: lifecycle.Running})
	h.Enc = native.New()
	h.OnAttach = func(_ context.Context, rw io.ReadWriteCloser) error {
		_, err := io.Copy(rw, rw)
		return errors.Join(err, errors.New("gone"))
	}
	addr := console(t, &controltest.Supervisor{Members: []*controltest.Host{h}}, control.Options{}, control.Access{})
	body, send := io.Pipe()
	req, err := http.NewRequest(http.MethodPost, "http://"+addr+"/v1/hosts/ts/attach", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secretOf(control.RoleFull))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	go func() { _, _ = io.WriteString(send, "ping\n") }()
	line, err := bufio.NewReader(res.Body).ReadString('\n')
	if line != "ping\n" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
	_ = send.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || !strings.Contains(res.Trailer.Get("Hostsup-Error"), "gone") {
		t.Errorf("%v, %v", err, res.Trailer)
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
