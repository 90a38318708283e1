//go:build !hostsup_posix

package shim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/hostsup/hostsup/internal/shim/process"
	"github.com/hostsup/hostsup/internal/sys"
)

// lockFile is in the folder of a shim, beside its socket and its RecordFile.
const lockFile = "lock"

// Record says which processes a folder belongs to.
type Record struct {
	Version int     `json:"version"` // of this file
	Name    string  `json:"name"`    // Options.Name
	Shim    Process `json:"shim"`
	Command Process `json:"command"`
	// Cgroup is the v2 cgroup of the command, as /proc has it, "/" at least; "" if it is unknown.
	Cgroup string `json:"cgroup,omitempty"`
}

// Process identifies a process of this boot of the machine.
type Process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks since the boot
}

// processOf returns the process that has a number now.
func processOf(pid int) (Process, error) {
	st, err := sys.ReadStat(pid)
	return Process{pid, st.Start}, err
}

// cgroupOf returns the v2 cgroup of a process.
func cgroupOf(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if path, ok := strings.CutPrefix(line, "0::"); ok {
			return strings.TrimSuffix(path, "\n")
		}
	}
	return ""
}

// write writes the record as a whole: a reader sees all of it or no file.
func (r *Record) write(dir string) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	next := filepath.Join(dir, RecordFile+".next")
	if err := os.WriteFile(next, b, 0o600); err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(dir, RecordFile))
}

// readRecord returns the record in the folder of a shim. The error wraps
// fs.ErrNotExist without one, and ErrVersion if another version wrote it.
func readRecord(dir string) (*Record, error) {
	path := filepath.Join(dir, RecordFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(Record)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if r.Version != RecordVersion {
		return nil, fmt.Errorf("%s has version %d, expected %d: %w", path, r.Version, RecordVersion, ErrVersion)
	}
	return r, nil
}

// locked reports whether a shim, or its successor that kills its processes, runs.
func locked(dir string) (bool, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	switch err := sys.Lock(f); {
	case errors.Is(err, sys.ErrLocked):
		return true, nil
	case err != nil:
		return false, err
	}
	return false, sys.Unlock(f)
}

// Open connects to the shim of a folder, whose command may have ended meanwhile. The
// error wraps [ErrGone] if no process holds the folder: Remove may remove it then;
// [ErrNotReady] if a process holds it that cannot be connected to, because it is being
// started or is killing what is left; [ErrStranger] if the process that listens is not
// the one in the record; [ErrBusy] if another client is connected; and [ErrVersion] if
// the shim is of another version.
func Open(dir string) (*Conn, error) {
	held, err := locked(dir)
	if err != nil {
		return nil, fmt.Errorf("open the shim in %s: %w", dir, err)
	}
	if !held {
		return nil, fmt.Errorf("open the shim in %s: %w", dir, ErrGone)
	}
	r, err := readRecord(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open the shim in %s: no record: %w", dir, ErrNotReady)
	}
	if err != nil {
		return nil, err
	}
	sock, err := dial(dir)
	if errors.Is(err, syscall.EAGAIN) { // as many clients as fit wait to be told
		return nil, fmt.Errorf("open the shim in %s: %w: %w", dir, ErrBusy, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open the shim in %s: %w: %w", dir, ErrNotReady, err)
	}
	if err := r.listens(sock); err != nil {
		return nil, errors.Join(fmt.Errorf("open the shim in %s: %w", dir, err), sock.Close())
	}
	c, err := newConn(sock, dir, r)
	if errors.Is(err, ErrLost) {
		err = fmt.Errorf("%w: %w", ErrNotReady, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open the shim in %s: %w", dir, err)
	}
	return c, nil
}

// dial connects to the socket of a folder, whose path may be long.
func dial(dir string) (*net.UnixConn, error) {
	folder, err := sys.PinFolder(dir)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return net.DialUnix("unix", nil, &net.UnixAddr{Name: sys.PinnedPath(folder, process.SocketFile), Net: "unix"})
}

// listens returns an error unless the shim of the record has made the socket that sock
// is connected to.
func (r *Record) listens(sock *net.UnixConn) error {
	cred, err := sys.PeerCred(sock)
	if err != nil {
		return err
	}
	got, err := processOf(cred.Pid)
	if err != nil || got != r.Shim {
		return fmt.Errorf("process %d listens, started at tick %d, expected process %d, started at tick %d: %w", got.PID, got.Start, r.Shim.PID, r.Shim.Start, ErrStranger)
	}
	return nil
}

// Remove removes the folder of a shim that has ended. It returns an error, and removes
// nothing, if the folder is held.
func Remove(dir string) error {
	held, err := locked(dir)
	if err != nil {
		return err
	}
	if held {
		return fmt.Errorf("remove %s: its shim runs: %w", dir, ErrBusy)
	}
	return os.RemoveAll(dir)
}
