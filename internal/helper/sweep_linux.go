//go:build !hostsup_posix

package helper

import (
	"encoding/binary"
	"os"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// Sweep is a message from a Launcher to its sweeper, the helper that removes the
// placeholders of its lives if the Launcher is killed.
type Sweep struct {
	Kind byte
	Life uint64
	Name string // SweepName: the name held in the folder whose descriptor comes with it
}

// The kinds of a Sweep. The messages about a life come in this order.
const (
	SweepName = 'n' // a placeholder will be made
	SweepLock = 'l' // the last named placeholder is locked; its descriptor comes with it
	SweepInit = 'i' // the life's init, whose pidfd comes with it: placeholders stay until it has ended
	SweepDone = 'd' // the life has ended completely

	maxName   = 255
	sweepSize = 1 + 8 + 1 + maxName
)

// Encode returns m as a message. A name is a file name: it is not longer than 255 bytes.
func (m *Sweep) Encode() []byte {
	b := make([]byte, sweepSize)
	b[0] = m.Kind
	binary.LittleEndian.PutUint64(b[1:], m.Life)
	b[9] = byte(copy(b[10:], m.Name))
	return b
}

func decodeSweep(b []byte) Sweep {
	return Sweep{Kind: b[0], Life: binary.LittleEndian.Uint64(b[1:]), Name: string(b[10 : 10+int(b[9])])}
}

// swept is the state of a life.
type swept struct {
	names []heldName
	init  int // a pidfd; -1: not known yet
}

type heldName struct {
	parent, lock int
	name         string
}

// sweep waits for the end of the Launcher, for whatever reason, and removes the
// remaining placeholders.
func sweep() int {
	Calm()
	_ = sys.ShedCleanPages() // a failure does no harm
	sock := os.NewFile(FD, "launcher")
	lives := map[uint64]*swept{}
	for b := make([]byte, sweepSize); ; {
		n, fd, err := sys.RecvFD(sock, b)
		if err != nil || n == 0 || n < len(b) && readFull(b[n:]) != nil {
			break
		}
		m := decodeSweep(b)
		l := lives[m.Life]
		if l == nil {
			l = &swept{init: -1}
			lives[m.Life] = l
		}
		switch last := len(l.names) - 1; {
		case m.Kind == SweepName:
			l.names = append(l.names, heldName{fd, -1, m.Name})
		case m.Kind == SweepLock && last >= 0:
			l.names[last].lock = fd
		case m.Kind == SweepInit:
			l.init = fd
		case m.Kind == SweepDone:
			l.forget()
			delete(lives, m.Life)
		default:
			return helperWrong
		}
	}
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		for id, l := range lives {
			if l.over(time.Since(start)) {
				l.remove()
				delete(lives, id)
			}
		}
		if len(lives) == 0 {
			return helperDone
		}
	}
}

// orphanWait is how long an init may take to end if its Launcher did not report its end:
// the kernel kills the init with the Launcher.
const orphanWait = 100 * time.Millisecond

// over reports whether no process of a life is left, a time since after the end of its
// Launcher.
func (l *swept) over(since time.Duration) bool {
	if l.init < 0 {
		return since > orphanWait
	}
	return sys.PidfdEnded(l.init) || since > KeepFor
}

func (l *swept) remove() {
	for _, n := range l.names {
		sys.RemovePlaceholder(n.parent, n.name, n.lock)
	}
	l.forget()
}

func (l *swept) forget() {
	for _, n := range l.names {
		_, _ = syscall.Close(n.parent), syscall.Close(n.lock)
	}
	_ = syscall.Close(l.init)
}
