package server

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
)

// lineBuffer is how many bytes of lines are read at a time.
const lineBuffer = 16 << 10

// serveLines serves a connection by lines to its end.
func (s *Server) serveLines(r io.Reader, w io.WriteCloser) {
	if !s.admit() {
		w.Close()
		return
	}
	defer s.serves.Done()
	c := s.newConn(w, lines{}, "")
	s.enter(c)
	defer s.exit(c)
	go c.write()
	why := c.readLines(r)
	var bad fatal
	if errors.As(why, &bad) {
		s.opt.Log.Debug("a client broke the protocol", "reason", why)
	}
	c.kick(closeNormal, why.Error()) // after the last answer
	<-c.written
	c.close(why)
}

// readLines takes messages until the stream ends.
func (c *conn) readLines(r io.Reader) error {
	br := bufio.NewReaderSize(r, lineBuffer)
	var long []byte
	for {
		line, err := br.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) || len(long) > 0 {
			if len(long)+len(line) > c.srv.opt.MaxMessage+1 {
				beginning := append(long[:min(len(long), maxBeginning):min(len(long), maxBeginning)], line[:min(len(line), maxBeginning)]...)
				end := ending{}
				_, _ = end.Write(line)
				if errors.Is(err, bufio.ErrBufferFull) {
					err = skipLine(br, &end)
				}
				c.srv.memory.released(cap(long))
				long = nil
				if err == nil {
					c.tooLarge(beginning, end)
					continue
				}
				return errEnd
			}
			long = append(long, line...)
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			line = long
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if err := c.message(line); err != nil {
				return err
			}
		}
		if long = long[:0]; cap(long) > 4*lineBuffer {
			c.srv.memory.released(cap(long))
			long = nil
		}
		if err != nil {
			return errEnd
		}
	}
}

// skipLine skips the rest of a line and writes it to end.
func skipLine(br *bufio.Reader, end *ending) error {
	for {
		line, err := br.ReadSlice('\n')
		_, _ = end.Write(line)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// serveStdio serves the one connection there is. Its end is the server's.
func (s *Server) serveStdio() {
	s.serveLines(s.opt.Stdin, newOutput(s.opt.Stdout))
	s.end(nil)
}

// output is the program's stdout, which stays open.
type output struct{ sender }

func newOutput(f *os.File) *output {
	o := &output{sender{w: f}}
	if raw, err := f.SyscallConn(); err == nil {
		o.try = func(b []byte) (int, error) { return sys.TryWriteBlocking(raw, b) }
	}
	return o
}

// Close leaves it open.
func (*output) Close() error { return nil }

// serveUnix accepts connections on the socket.
func (s *Server) serveUnix() error {
	for {
		nc, err := s.listener.Accept()
		if err != nil {
			return err
		}
		sock := newSocket(nc)
		go s.serveLines(sock, sock) // counted by enter; its end comes with the server's at the latest
	}
}

// listenUnix makes a socket that only this user can connect to. It replaces a stale
// one.
func listenUnix(path string) (net.Listener, error) {
	c, err := net.Dial("unix", path)
	if err == nil {
		c.Close()
	}
	if err == nil || errors.Is(err, syscall.EAGAIN) { // too many connections wait to be accepted
		return nil, fmt.Errorf("listen unix://%s: another program is listening there already", path)
	}
	if st, err := os.Lstat(path); err == nil && st.Mode()&os.ModeSocket == 0 {
		return nil, fmt.Errorf("listen unix://%s: the path exists and is not a socket", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	// Made under another name and in its mode before anybody can find it.
	tmp := fmt.Sprintf("%s.%s", path, newID()[:8])
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: tmp, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	if err = os.Chmod(tmp, 0o600); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		l.Close()
		_ = os.Remove(tmp) // the error that matters is at hand
		return nil, err
	}
	return l, nil
}
