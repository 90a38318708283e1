//go:build !linux

package sys

import (
	"os"
	"time"
)

// OpenPlain cannot be done here.
func OpenPlain(string, int, uint32) (*os.File, error) { return nil, ErrUnsupported }

// OpenBeneath cannot be done here.
func OpenBeneath(*os.File, string, int, uint32) (*os.File, error) { return nil, ErrUnsupported }

// StatPlain is [os.Lstat] here, which follows links on the way.
func StatPlain(path string) (os.FileInfo, error) { return os.Lstat(path) }

// ExtendedAccess is not known here.
func ExtendedAccess(string) bool { return false }

// OutsiderID is for user namespaces, which are not here.
func OutsiderID() (uid int, ok bool) { return 0, false }

// PinFolder cannot be done here.
func PinFolder(string) (*os.File, error) { return nil, ErrUnsupported }

// PinPlain cannot be done here.
func PinPlain(string) (*os.File, error) { return nil, ErrUnsupported }

// PinnedPath has nothing to name here.
func PinnedPath(_ *os.File, base string) string { return base }

// RemoveAt cannot be done here.
func RemoveAt(*os.File, string, bool) error { return ErrUnsupported }

// Born is not known here.
func Born(string, bool) time.Time { return time.Time{} }

// Discards is not known here.
func Discards(os.FileInfo) bool { return false }

// What a [Notices] can be asked to tell of a path.
const (
	NoticeMade    = 1
	NoticeChanged = 2
	NoticeState   = 4
	NoticeGone    = 8
)

// Notice is one thing that has happened.
type Notice struct {
	Watch int32
	Name  string
}

// Notices tells of changes to paths; not here.
type Notices struct{}

// NewNotices cannot be done here.
func NewNotices() (*Notices, error) { return nil, ErrUnsupported }

// Add cannot be done here.
func (*Notices) Add(string, uint32) (int32, error) { return -1, ErrUnsupported }

// Read cannot be done here.
func (*Notices) Read() ([]Notice, error) { return nil, ErrUnsupported }

// Close does nothing here.
func (*Notices) Close() error { return nil }

// TellsChanges is always false here.
func TellsChanges(string) bool { return false }
