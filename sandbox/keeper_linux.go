//go:build !hostsup_posix

package sandbox

import (
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/signame"
	"github.com/hostsup/hostsup/internal/sys"
)

// keeper manages the process that kills all cgroups if this process is killed, and
// starts it again when it ends.
type keeper struct {
	cg    *cgroups
	quit  chan struct{}
	ended chan struct{}

	mu   sync.Mutex
	proc *helperProc // nil while no keeper runs
	lost error       // why no keeper runs
	also []string    // folders that it removes besides the cgroup
}

// Pauses between starts of a keeper that does not stay alive.
const (
	keeperRetry  = 100 * time.Millisecond
	keeperLonger = 10 * time.Second
	keeperStable = time.Minute // after this time the pauses start over
)

func newKeeper(c *cgroups) (*keeper, error) {
	k := &keeper{cg: c, quit: make(chan struct{}), ended: make(chan struct{})}
	h, err := k.start()
	if err != nil {
		return nil, fmt.Errorf("keeper: %w", err)
	}
	k.proc = h
	go k.run(h)
	return k, nil
}

// start starts the keeper and returns when it is ready.
func (k *keeper) start() (*helperProc, error) {
	h, err := k.cg.spawnHelper(helper.RoleKeeper, sys.Process{}, []int{k.cg.dir}, []byte(k.cg.path), k.cg.path)
	if err != nil {
		return nil, err
	}
	if _, err = h.ready(helper.ReportReady); err != nil {
		h.end()
		return nil, err
	}
	return h, nil
}

// remove makes the keeper also remove the folder of a cgroup of another hierarchy,
// which need not exist yet.
func (k *keeper) remove(path string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.also = append(k.also, path)
	if k.proc != nil {
		k.proc.alsoRemove(path)
	}
}

// alsoRemove sends a folder to a keeper. It ignores errors: if the keeper has ended,
// the next one gets the folder.
func (h *helperProc) alsoRemove(path string) { _, _ = h.sock.WriteString(path + "\n") }

// run waits for the keeper's end and replaces it at once, or after growing pauses if it
// does not stay alive.
func (k *keeper) run(h *helperProc) {
	defer close(k.ended)
	delay := time.Duration(0)
	for {
		since := time.Now()
		e, _ := h.wait(true)
		h.close()
		h.sock.Close()
		select {
		case <-k.quit:
			return
		default:
		}
		if time.Since(since) > keeperStable {
			delay = 0
		}
		k.set(nil, fmt.Errorf("it ended by %s", describe(exitOf(e))))
		for {
			if !k.pause(delay) {
				return
			}
			delay = min(max(2*delay, keeperRetry), keeperLonger)
			var err error
			if h, err = k.start(); err == nil {
				break
			}
			k.set(nil, err)
		}
		if !k.set(h, nil) {
			h.end()
			return
		}
	}
}

func (k *keeper) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-k.quit:
		return false
	}
}

// set stores the keeper and reports whether it is still needed.
func (k *keeper) set(h *helperProc, lost error) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case <-k.quit:
		return false
	default:
		k.proc, k.lost = h, lost
		if h != nil {
			for _, path := range k.also {
				h.alsoRemove(path)
			}
		}
		return true
	}
}

func (k *keeper) trouble() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lost == nil {
		return nil
	}
	return []string{fmt.Sprintf("keeper: %v; until it runs again, a SIGKILL of this process leaves children of its hosts behind", k.lost)}
}

// keeperLeave is how long a keeper may take to end when it is not needed.
const keeperLeave = 2 * time.Second

// stop closes the keeper's socket and waits for its end. With left it does not wait:
// the keeper runs for another helper.KeepFor to kill the remaining processes and to
// remove the folder.
func (k *keeper) stop(left bool) {
	k.mu.Lock()
	close(k.quit)
	h := k.proc
	k.mu.Unlock()
	if h != nil {
		h.sock.Close()
		_ = h.signal(syscall.SIGCONT) // it may be stopped
		if left {
			return
		}
		t := time.NewTimer(keeperLeave)
		defer t.Stop()
		select {
		case <-k.ended:
		case <-t.C:
			_ = h.signal(syscall.SIGKILL)
		}
	}
	<-k.ended
}

func describe(e Exit) string {
	if e.Signal != 0 {
		return signame.Of(e.Signal)
	}
	return fmt.Sprintf("exit code %d", e.Code)
}
