//go:build !linux

package sys

import (
	"os"
	"time"
)

// OpenPlain is not supported on this system.
func OpenPlain(string, int, uint32) (*os.File, error) { return nil, ErrUnsupported }

// OpenBeneath is not supported on this system.
func OpenBeneath(*os.File, string, int, uint32) (*os.File, error) { return nil, ErrUnsupported }

// StatPlain is [os.Lstat] on this system, which follows links on the way.
func StatPlain(path string) (os.FileInfo, error) { return os.Lstat(path) }

// ExtendedAccess returns false: it is unknown on this system.
func ExtendedAccess(string) bool { return false }

// OutsiderID returns false: this system has no user namespaces.
func OutsiderID() (uid int, ok bool) { return 0, false }

// PinFolder is not supported on this system.
func PinFolder(string) (*os.File, error) { return nil, ErrUnsupported }

// PinPlain is not supported on this system.
func PinPlain(string) (*os.File, error) { return nil, ErrUnsupported }

// PinnedPath returns base: this system has no pinned folders.
func PinnedPath(_ *os.File, base string) string { return base }

// RemoveAt is not supported on this system.
func RemoveAt(*os.File, string, bool) error { return ErrUnsupported }

// Born returns the zero time: it is unknown on this system.
func Born(string, bool) time.Time { return time.Time{} }

// Discards returns false: it is unknown on this system.
func Discards(os.FileInfo) bool { return false }

// The changes that a [Notices] can report of a path.
const (
	NoticeMade    = 1
	NoticeChanged = 2
	NoticeState   = 4
	NoticeGone    = 8
)

// Notice is one change.
type Notice struct {
	Watch int32
	Name  string
}

// Notices reports changes to paths; it is not supported on this system.
type Notices struct{}

// NewNotices is not supported on this system.
func NewNotices() (*Notices, error) { return nil, ErrUnsupported }

// Add is not supported on this system.
func (*Notices) Add(string, uint32) (int32, error) { return -1, ErrUnsupported }

// Read is not supported on this system.
func (*Notices) Read() ([]Notice, error) { return nil, ErrUnsupported }

// Close does nothing on this system.
func (*Notices) Close() error { return nil }

// TellsChanges returns false on this system.
func TellsChanges(string) bool { return false }
