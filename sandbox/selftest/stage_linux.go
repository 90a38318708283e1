//go:build !hostsup_posix

package selftest

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// stage is the world of one run of one attempt, made outside: folders with and
// without a grant, secrets, servers, victims. Everything on it is open to every
// user, so that only the sandbox is in the way.
type stage struct {
	suite   *suite
	dir     string
	secret  string            // random; in files and processes that are not granted
	mark    string            // random; in the environment of all that is started on it
	params  map[string]string // for inside.get
	extra   []*os.File        // given to the process as descriptors from 3 on
	ctty    bool              // a start without a sandbox makes extra[0] its controlling terminal
	level   policy.Level      // "" in a control
	env     []string          // given to the process besides partEnv
	cleanup []func()
	vars    map[string]any // what prepare and watch keep for judge
}

// The folders of a stage.
const (
	outsideDir = "outside" // not granted
	readDir    = "read"    // granted for reading
	writeDir   = "write"   // granted for writing
	workDir    = "work"    // the bounded folder
	toolsDir   = "tools"   // of the suite: granted for running
)

func newStage(su *suite, level policy.Level) (*stage, error) {
	// Short, because the path of a socket has to be.
	dir := filepath.Join(su.dir, strconv.FormatInt(su.stages.Add(1), 36))
	if err := os.Mkdir(dir, 0o777); err != nil {
		return nil, err
	}
	s := &stage{suite: su, dir: dir, secret: "secret-" + random(), mark: "mark-" + random(), params: map[string]string{}, level: level, vars: map[string]any{}}
	s.onClose(func() { _ = os.RemoveAll(dir) })
	steps := []error{os.Chmod(dir, 0o777)}
	for _, sub := range []string{outsideDir, readDir, writeDir, workDir} {
		steps = append(steps, os.Mkdir(s.path(sub), 0o777), os.Chmod(s.path(sub), 0o777))
	}
	steps = append(steps,
		s.file("outside/secret", s.secret), s.file("read/file", "granted"), s.file("write/file", "granted"),
		os.Symlink("../outside/secret", s.path("read/link")))
	if err := errors.Join(steps...); err != nil {
		s.close()
		return nil, err
	}
	s.params["dir"] = dir
	s.params["mark"] = s.mark
	s.params["program"] = su.program
	s.params["tools"] = su.tools
	s.params["uid"] = strconv.Itoa(os.Getuid())
	s.params["tmp"] = "/tmp"
	if level == "" || !level.AtLeast(policy.NoCgroup) {
		// Without a /tmp of its own what is filled up is a folder here.
		s.params["tmp"] = s.path(writeDir)
	}
	for _, sub := range []string{outsideDir, readDir, writeDir, workDir} {
		s.params[sub] = s.path(sub)
	}
	s.params["secret"] = s.path("outside/secret")
	return s, nil
}

func (s *stage) path(elem ...string) string {
	return filepath.Join(append([]string{s.dir}, elem...)...)
}

// file writes a file that everybody may read and write.
func (s *stage) file(name, text string) error {
	if err := os.WriteFile(s.path(name), []byte(text), 0o666); err != nil {
		return err
	}
	return os.Chmod(s.path(name), 0o666)
}

func (s *stage) onClose(f func()) { s.cleanup = append(s.cleanup, f) }

func (s *stage) close() {
	for len(s.cleanup) > 0 {
		last := len(s.cleanup) - 1
		f := s.cleanup[last]
		s.cleanup = s.cleanup[:last]
		f()
	}
}

func (s *stage) set(key string, value any) { s.params[key] = fmt.Sprint(value) }

// read is a file's content now, for judges; an error is content too.
func (s *stage) read(name string) string {
	b, err := os.ReadFile(s.path(name))
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func random() string {
	b := make([]byte, 12)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// ear is a server of ours that must not hear anything.
type ear struct {
	heard chan string // what came, first of all
}

// reachable lets every user connect to a socket that is a file.
func reachable(network, address string) error {
	if !strings.HasPrefix(network, "unix") || strings.HasPrefix(address, "@") {
		return nil
	}
	return os.Chmod(address, 0o777)
}

// listens opens a stream server and keeps the first thing said to it.
func (s *stage) listens(network, address string) (net.Addr, *ear, error) {
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, nil, missing(err.Error())
	}
	if err := reachable(network, address); err != nil {
		return nil, nil, err
	}
	e := newEar()
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			e.hears("a connection")
			c.Close()
		}
	}()
	s.onClose(func() { l.Close(); <-over })
	return l.Addr(), e, nil
}

// receives opens a datagram server likewise.
func (s *stage) receives(network, address string) (net.Addr, *ear, error) {
	p, err := net.ListenPacket(network, address)
	if err != nil {
		return nil, nil, missing(err.Error())
	}
	if err := reachable(network, address); err != nil {
		return nil, nil, err
	}
	e := newEar()
	over := make(chan struct{})
	go func() {
		defer close(over)
		b := make([]byte, 1024)
		for {
			n, _, err := p.ReadFrom(b)
			if err != nil {
				return
			}
			e.hears(string(b[:n]))
		}
	}()
	s.onClose(func() { p.Close(); <-over })
	return p.LocalAddr(), e, nil
}

func newEar() *ear { return &ear{heard: make(chan string, 1)} }

func (e *ear) hears(what string) {
	select {
	case e.heard <- what:
	default:
	}
}
