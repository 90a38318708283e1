//go:build !hostsup_posix

package sandbox

import (
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/sys"
)

// sweeper is the process that removes placeholders if this process is killed. It is
// started for the first placeholder.
type sweeper struct {
	mu    sync.Mutex
	proc  *helperProc
	ended chan struct{} // closed when proc has ended
	last  uint64        // number of a life
	lives map[uint64]*sweep
}

// sweep is what the sweeper knows about a life.
type sweep struct {
	by   *sweeper
	base *base

	// Under by.mu:
	life  uint64
	names []*placeholder
	init  int // a pidfd; 0 before begun
}

// add announces a placeholder, before it is created.
func (w *sweep) add(p *placeholder) error {
	s := w.by
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.life == 0 {
		if s.lives == nil {
			s.lives = map[uint64]*sweep{}
		}
		s.last++
		w.life = s.last
		s.lives[w.life] = w
	}
	w.names = append(w.names, p)
	return s.tell(w, helper.SweepName, int(p.parent.Fd()), p.name)
}

// locked reports that the last added placeholder exists and is locked.
func (w *sweep) locked(lock int) error {
	w.by.mu.Lock()
	defer w.by.mu.Unlock()
	w.names[len(w.names)-1].lock = lock
	return w.by.tell(w, helper.SweepLock, lock, "")
}

// begun reports the init of the life. pidfd must stay open until done.
func (w *sweep) begun(pidfd int) error {
	w.by.mu.Lock()
	defer w.by.mu.Unlock()
	fd, err := sys.HighFD(pidfd, 3)
	if err != nil {
		return err
	}
	w.init = fd
	return w.by.tell(w, helper.SweepInit, fd, "")
}

// done removes the placeholders of an ended life.
func (w *sweep) done() {
	s := w.by
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range w.names {
		sys.RemovePlaceholder(int(p.parent.Fd()), p.name, p.lock)
	}
	delete(s.lives, w.life)
	if s.proc != nil {
		_ = s.send(w, helper.SweepDone, -1, "") // an ended sweeper needs no message
	}
	for _, p := range w.names {
		p.parent.Close()
		closeFD(p.lock)
	}
	if w.init > 0 {
		sys.Close(w.init)
	}
}

// tell sends a message to the sweeper. If the sweeper has ended, tell starts another
// and sends it everything. The caller must hold mu.
func (s *sweeper) tell(w *sweep, kind byte, fd int, name string) error {
	if s.proc != nil && s.send(w, kind, fd, name) == nil {
		return nil
	}
	s.end()
	proc, err := w.base.spawnHelper(helper.RoleSweeper, sys.Process{}, nil, nil, "placeholders")
	if err != nil {
		return err
	}
	_ = proc.sock.SetDeadline(time.Time{})
	s.proc, s.ended = proc, make(chan struct{})
	go func(ended chan struct{}) {
		defer close(ended)
		_, _ = proc.wait(true)
	}(s.ended)
	for _, w := range s.lives {
		if err := s.tellAll(w); err != nil {
			return fmt.Errorf("send to the helper that removes placeholders: %w", err)
		}
	}
	return nil
}

func (s *sweeper) tellAll(w *sweep) error {
	for _, p := range w.names {
		if err := s.send(w, helper.SweepName, int(p.parent.Fd()), p.name); err != nil {
			return err
		}
		if p.lock >= 0 {
			if err := s.send(w, helper.SweepLock, p.lock, ""); err != nil {
				return err
			}
		}
	}
	if w.init == 0 {
		return nil
	}
	return s.send(w, helper.SweepInit, w.init, "")
}

func (s *sweeper) send(w *sweep, kind byte, fd int, name string) error {
	m := helper.Sweep{Kind: kind, Life: w.life, Name: name}
	conn, err := s.proc.sock.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = conn.Write(func(sock uintptr) bool {
		sent = sys.SendFD(int(sock), m.Encode(), fd)
		return sent != syscall.EAGAIN
	})
	if err == nil {
		err = sent
	}
	return err
}

// end ends the sweeper. The caller must hold mu.
func (s *sweeper) end() {
	if s.proc == nil {
		return
	}
	_ = s.proc.signal(syscall.SIGKILL)
	<-s.ended
	s.proc.close()
	s.proc.sock.Close()
	s.proc = nil
}

// close closes the sweeper's socket. If lives were given up, the sweeper keeps running
// and removes their placeholders when their processes have ended.
func (s *sweeper) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil && len(s.lives) > 0 {
		s.proc.sock.Close()
		return
	}
	s.end()
}
