package sdk

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/link"
)

// The environment variables by which a supervisor names the connection. Open
// removes them, so that the host's own children do not take them for theirs.
const (
	EnvFD    = "HOSTSUP_HOST_FD"    // number of an inherited, connected socket
	EnvAddr  = "HOSTSUP_HOST_ADDR"  // path of a unix socket to connect to
	EnvToken = "HOSTSUP_HOST_TOKEN" // 32 bytes in hex that open it
)

const tokenSize = 32

// Open returns the connection to the supervisor that the environment names:
// an inherited socket ([EnvFD]), else a unix socket to connect to ([EnvAddr],
// opened by the token in [EnvToken]), else standard input and output.
//
// The inherited socket is not available on Windows. Taking standard input and
// output also moves them out of the way of the rest of the program (not on
// Windows): from then on descriptor 1 is standard error, so that a print does
// not break the protocol, and descriptor 0 reads as empty. When nothing is
// named and standard input is a terminal or another device, the error is
// [ErrNoTransport].
func Open() (io.ReadWriteCloser, error) {
	fd, addr, token := os.Getenv(EnvFD), os.Getenv(EnvAddr), os.Getenv(EnvToken)
	for _, name := range []string{EnvFD, EnvAddr, EnvToken} {
		if err := os.Unsetenv(name); err != nil {
			return nil, fmt.Errorf("environment: %w", err)
		}
	}
	switch {
	case fd != "":
		n, err := strconv.Atoi(fd)
		if err != nil || n < 3 {
			return nil, fmt.Errorf("%s is %q, want the number of a descriptor from 3", EnvFD, fd)
		}
		rw, err := inherited(n)
		if err != nil {
			return nil, fmt.Errorf("%s names descriptor %d: %w", EnvFD, n, err)
		}
		return rw, nil
	case addr != "":
		rw, err := dial(addr, token)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", EnvAddr, err)
		}
		return rw, nil
	}
	info, err := os.Stdin.Stat()
	if err != nil {
		return nil, fmt.Errorf("%w: %s and %s are not set, and standard input is closed", ErrNoTransport, EnvFD, EnvAddr)
	}
	if info.Mode()&os.ModeCharDevice != 0 {
		return nil, fmt.Errorf("%w: %s and %s are not set, and standard input is a device, not a pipe: this program is started by a supervisor",
			ErrNoTransport, EnvFD, EnvAddr)
	}
	return stdio()
}

// dial connects to the unix socket at addr and shows the token.
func dial(addr, token string) (io.ReadWriteCloser, error) {
	raw, err := hex.DecodeString(token)
	if err != nil || len(raw) != tokenSize {
		// The token is a secret: it is not shown.
		return nil, fmt.Errorf("%s is not %d bytes in hex", EnvToken, tokenSize)
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: addr, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(raw); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return direct(conn)
}

// wireOf makes a wire of a connection.
func wireOf(rw io.ReadWriteCloser) link.Wire {
	switch c := rw.(type) {
	case link.Wire:
		return c
	case *net.UnixConn:
		return struct {
			*net.UnixConn
			*sys.TryWriter
		}{c, sys.NewTryWriter(c, false)}
	}
	return stream{rw}
}

// stream is any other connection. The write loop does all writes.
type stream struct{ io.ReadWriteCloser }

// TryWrite implements [link.Wire].
func (stream) TryWrite([]byte) (int, error) { return 0, nil }

// CloseWrite implements [link.Wire]. The connection ends as a whole.
func (stream) CloseWrite() error { return nil }
