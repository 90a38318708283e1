package peers

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
)

const ready = "ready\n"

// server is a started "serve" process.
type server struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	dir    string
	socket string
}

// startServer starts this binary as the server of that peer and returns once
// it listens.
func startServer(name string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "hostsup-bench-")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir, socket: filepath.Join(dir, "s")}
	s.cmd = exec.Command(self, "serve", name, s.socket)
	s.cmd.Stderr = os.Stderr
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.stdin = in
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != ready {
		return nil, errors.Join(fmt.Errorf("server of %s did not get ready", name), err, s.Close())
	}
	return s, nil
}

func (s *server) dial() (net.Conn, error) { return net.Dial("unix", s.socket) }

// Close ends the server and waits for its end.
func (s *server) Close() error {
	return errors.Join(s.stdin.Close(), s.cmd.Wait(), os.RemoveAll(s.dir))
}

// RunServer is the body of a "serve NAME SOCKET" process.
func RunServer(name, socket string) error {
	p, err := Named(name)
	if err != nil {
		return err
	}
	if p.Serve == nil {
		return fmt.Errorf("%s has no server here", name)
	}
	var l net.Listener
	if socket != "" {
		if l, err = net.Listen("unix", socket); err != nil {
			return err
		}
		defer l.Close()
		fmt.Print(ready)
	}
	stop := make(chan struct{})
	go func() {
		defer close(stop)
		_, _ = io.Copy(io.Discard, os.Stdin) // its end is the news, however it comes
	}()
	return p.Serve(l, stop)
}
