package execserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/sandbox"
)

const (
	byeTimeout  = 2 * time.Second        // for a spawned server, between being asked to end and being killed
	exitTimeout = 250 * time.Millisecond // from the end of its output to its own end, for the reason
	stderrTail  = 512                    // bytes of its last words
)

// Program is a server that is started for the client and speaks over its
// standard input and output, a message a line. It ends with the connection: it
// is asked to by the end of its input and SIGTERM, and after 2 s it is killed.
// Whatever it has started is killed in any case, also when this program ends
// without a word.
type Program struct {
	Args []string // the program, looked up in this program's PATH, and its arguments
	Env  []string // "K=V"; nil is this program's environment
	Dir  string   // "" is this program's own
	// Stderr gets what the server writes there, from one goroutine; nil throws
	// it away but for the last words, which become part of the reason.
	Stderr io.Writer
	// Launcher starts it; nil is one for each connection.
	Launcher *sandbox.Launcher
}

// String is the command line.
func (c Program) String() string { return strings.Join(c.Args, " ") }

func (c Program) lasting() bool { return false }

func (c Program) dial(context.Context) (transport, error) {
	if len(c.Args) == 0 {
		return nil, errors.New("no command given")
	}
	env := c.Env
	if env == nil {
		env = os.Environ()
	}
	path, err := sandbox.LookPath(c.Args[0], c.Dir, os.Getenv("PATH"))
	if err != nil {
		return nil, err
	}
	s := &spawned{stderr: c.Stderr}
	launcher := c.Launcher
	if launcher == nil {
		if launcher, err = sandbox.NewLauncher(sandbox.Options{}); err != nil {
			return nil, err
		}
		s.launcher = launcher
	}
	if err := s.start(launcher, &sandbox.Command{Name: "exec-server", Path: path, Args: c.Args, Env: env, Dir: c.Dir}); err != nil {
		if s.launcher != nil {
			s.launcher.Close()
		}
		return nil, err
	}
	return s, nil
}

// spawned is a connection to a server that was started for it.
type spawned struct {
	*lines
	child    *sandbox.Child
	launcher *sandbox.Launcher // of its own, or nil
	stderr   io.Writer

	in, out, errs *os.File      // our ends
	drained       chan struct{} // nothing more comes over errs
	mu            sync.Mutex
	tail          []byte // of standard error
	once          sync.Once
}

func (s *spawned) start(launcher *sandbox.Launcher, cmd *sandbox.Command) error {
	var files []*os.File
	pipe := func() (r, w *os.File, err error) {
		r, w, err = os.Pipe()
		files = append(files, r, w)
		return r, w, err
	}
	theirIn, in, err1 := pipe()
	out, theirOut, err2 := pipe()
	errs, theirErr, err3 := pipe()
	err := errors.Join(err1, err2, err3)
	if err == nil {
		cmd.Files = []*os.File{theirIn, theirOut, theirErr}
		s.child, err = launcher.Start(cmd)
	}
	if err != nil {
		for _, f := range files {
			f.Close()
		}
		return err
	}
	for _, f := range cmd.Files {
		f.Close()
	}
	s.in, s.out, s.errs = in, out, errs
	s.lines = newLines(struct {
		io.Reader
		io.WriteCloser
	}{out, in})
	s.drained = make(chan struct{})
	go s.readStderr()
	return nil
}

func (s *spawned) readStderr() {
	defer close(s.drained)
	buf := make([]byte, 4<<10)
	for {
		n, err := s.errs.Read(buf)
		if n > 0 {
			if s.stderr != nil {
				_, _ = s.stderr.Write(buf[:n]) // whoever does not want it has to go without
			}
			s.mu.Lock()
			s.tail = append(s.tail, buf[:n]...)
			s.tail = s.tail[max(0, len(s.tail)-stderrTail):]
			s.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// hangUp closes the server's input, which asks it to end, and our end of its
// output.
func (s *spawned) hangUp() {
	s.once.Do(func() {
		s.in.Close()
		s.out.Close()
		_ = s.child.Signal(syscall.SIGTERM) // it may have ended
	})
}

func (s *spawned) close() {
	timer := time.NewTimer(byeTimeout)
	defer timer.Stop()
	select {
	case <-s.child.Done():
	case <-timer.C:
	}
	_ = s.child.KillTree() // nothing may be left
	<-s.child.Done()
	s.child.Release()
	s.errs.Close()
	<-s.drained
	if s.launcher != nil {
		s.launcher.Close()
	}
}

// cause tells how the server ended, if it did.
func (s *spawned) cause(err error) string {
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return ""
	}
	timer := time.NewTimer(exitTimeout)
	defer timer.Stop()
	select {
	case <-s.child.Done():
	case <-timer.C:
		return ""
	}
	select {
	case <-s.drained: // its last words are read
	case <-timer.C:
	}
	exit := s.child.Exit()
	how := fmt.Sprintf("exited with code %d", exit.Code)
	if exit.Signal != 0 {
		how = fmt.Sprintf("ended by signal %d", exit.Signal)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	words := bytes.TrimSpace(s.tail)
	if i := bytes.LastIndexByte(words, '\n'); i >= 0 {
		words = bytes.TrimSpace(words[i+1:])
	}
	if len(words) > 0 {
		how += ": " + string(words)
	}
	return how
}
