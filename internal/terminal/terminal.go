// Package terminal opens pseudo-terminals.
package terminal

import (
	"errors"
	"os"

	"github.com/creack/pty"

	"github.com/hostsup/hostsup/internal/sys"
)

// Open returns both sides of a new terminal: ours, which never blocks, and its, for the standard
// streams of a program.
func Open(rows, cols uint16) (ours, its *os.File, err error) {
	ours, its, err = pty.Open() // ours does not block from the next line on
	if err != nil {
		return nil, nil, err
	}
	if ours, err = sys.Unblocked(ours); err != nil {
		return nil, nil, errors.Join(err, its.Close())
	}
	if err := sys.ResizeTerminal(ours, rows, cols); err != nil {
		return nil, nil, errors.Join(err, ours.Close(), its.Close())
	}
	return ours, its, nil
}
