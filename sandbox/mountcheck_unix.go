//go:build unix

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	// answerWait is how long a file system may take to answer what a start asks it.
	answerWait = 5 * time.Second
	// maxUnanswered bounds how many starts may have left a thread waiting for a file
	// system: a Go program has 10,000 threads at most.
	maxUnanswered = 256
)

var errNoAnswer = errors.New("its file system does not answer")

// mountCheck finds out whether the file systems of a command's folder and program
// answer. A process that is being started shares its parent's memory until its
// execve, so that Go's scheduler would wait for an unreachable NFS server as the
// child does: the whole program with it, at the next collection of garbage.
type mountCheck struct {
	mu      sync.Mutex
	waiting map[string]bool // paths that nothing has been heard of
}

// check returns an error, a *StartError, when a file system does not answer. What
// else may be wrong with a path is for the start to find.
func (m *mountCheck) check(cmd *Command) error {
	if cmd.Dir != "" {
		if err := m.ask(cmd.Dir, openFolder); err != nil {
			return &StartError{Name: cmd.Name, Step: StepDir, Path: cmd.Dir, Err: err}
		}
	}
	program := cmd.Path
	if !filepath.IsAbs(program) { // it is the child that looks for it
		program = filepath.Join(cmd.Dir, program)
	}
	if err := m.ask(program, readProgram); err != nil {
		return &StartError{Name: cmd.Name, Step: StepExec, Path: cmd.Path, Err: err}
	}
	return nil
}

func (m *mountCheck) ask(path string, look func(string)) error {
	m.mu.Lock()
	if m.waiting[path] || len(m.waiting) >= maxUnanswered {
		m.mu.Unlock()
		return fmt.Errorf("%w: an earlier start still waits for it", errNoAnswer)
	}
	m.mu.Unlock()
	answered := make(chan struct{})
	go func() {
		look(path)
		close(answered)
		m.mu.Lock()
		delete(m.waiting, path)
		m.mu.Unlock()
	}()
	late := time.NewTimer(answerWait)
	defer late.Stop()
	select {
	case <-answered:
		return nil
	case <-late.C:
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-answered:
		return nil
	default:
	}
	if m.waiting == nil {
		m.waiting = map[string]bool{}
	}
	m.waiting[path] = true
	return errNoAnswer
}

// openFolder opens it, which asks more file systems than looking at it does.
func openFolder(path string) {
	if f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0); err == nil {
		f.Close()
	}
}

// readProgram reads the beginning of a program, as execve will.
func readProgram(path string) {
	if i, err := os.Stat(path); err != nil || !i.Mode().IsRegular() {
		return
	}
	if f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil { // it may be a pipe by now
		_, _ = f.Read(make([]byte, 1))
		f.Close()
	}
}
