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
	// answerWait is how long a file system may take to answer a check.
	answerWait = 5 * time.Second
	// maxUnanswered bounds how many threads may wait for file systems: a Go program has
	// 10,000 threads at most.
	maxUnanswered = 256
)

var errNoAnswer = errors.New("its file system does not answer")

// mountCheck tests whether the file systems of a command's folder and program answer.
// A starting process shares its parent's memory until its execve. If the child waits
// for an unreachable NFS server, Go's scheduler waits with it, and at the next garbage
// collection the whole program.
type mountCheck struct {
	mu      sync.Mutex
	waiting map[string]bool // paths without an answer yet
}

// check returns a *StartError if a file system does not answer. The start finds other
// problems with a path.
func (m *mountCheck) check(cmd *Command) error {
	if cmd.Dir != "" {
		if err := m.ask(cmd.Dir, openFolder); err != nil {
			return &StartError{Name: cmd.Name, Step: StepDir, Path: cmd.Dir, Err: err}
		}
	}
	program := cmd.Path
	if !filepath.IsAbs(program) { // the child resolves it
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

// openFolder opens a folder, which needs an answer of more file systems than stat.
func openFolder(path string) {
	if f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0); err == nil {
		f.Close()
	}
}

// readProgram reads the first bytes of a program, as execve does.
func readProgram(path string) {
	if i, err := os.Stat(path); err != nil || !i.Mode().IsRegular() {
		return
	}
	if f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil { // it may be a pipe
		_, _ = f.Read(make([]byte, 1))
		f.Close()
	}
}
