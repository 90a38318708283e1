//go:build !hostsup_posix

package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// room is what a command has taken of its private /tmp. The zero value knows
// nothing.
type room struct {
	mu     sync.Mutex
	folder *os.File // holds the file system, also when the command is gone

	size, bytes  int64 // of all files: allowed, and taken at most
	nodes, files int64 // likewise, of their number
}

func (r *room) open(f *os.File) {
	r.mu.Lock()
	r.folder = f
	r.mu.Unlock()
	r.sample()
}

func (r *room) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.folder != nil {
		r.folder.Close()
		r.folder = nil
	}
}

// sample looks at what is taken.
func (r *room) sample() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.folder == nil {
		return
	}
	var st syscall.Statfs_t
	if syscall.Fstatfs(int(r.folder.Fd()), &st) != nil {
		return
	}
	r.size, r.nodes = int64(st.Blocks)*st.Bsize, int64(st.Files)
	r.bytes = max(r.bytes, r.size-int64(st.Bfree)*st.Bsize)
	r.files = max(r.files, r.nodes-int64(st.Ffree))
}

// reached returns a denial for each bound that was come near to.
func (r *room) reached(at time.Time) []denial.Denial {
	r.sample()
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []denial.Denial
	if r.size > 0 && r.bytes > r.size-r.size/16 {
		list = append(list, wantsRoom("tmp.size", 2*r.size, at))
	}
	if r.nodes > 0 && r.files > r.nodes-r.nodes/16 {
		list = append(list, wantsRoom("tmp.inodes", 2*r.nodes, at))
	}
	return list
}

// wantsRoom is a denial that a bound of /tmp would spare.
func wantsRoom(field string, n int64, at time.Time) denial.Denial {
	text := "inodes = " + strconv.FormatInt(n, 10)
	if field == "tmp.size" {
		text = "size = " + policy.Quote(policy.FormatSize(n))
	}
	return denial.Denial{
		Kind: denial.Limit, Path: field, Field: field, Grant: strconv.FormatInt(n, 10), Suggest: "tmp { " + text + " }",
		Source: denial.Seccomp, Hint: true, First: at, Last: at,
	}
}

// measureEvery is how often a survey looks at what a command has in /tmp.
const measureEvery = 250 * time.Millisecond

// room adds to a survey what its command needs in a /tmp of its own: twice of what
// it has made there, and never less than the default.
func (s *survey) room(now time.Time) {
	const page = 4096
	begun := time.Now()
	var bytes, files int64
	for path := range s.tmp {
		_ = filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error {
			if err != nil || at == path && e.IsDir() {
				return nil //nolint:nilerr // it is gone meanwhile, or counts by what is in it
			}
			files++
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				bytes += (info.Size() + page - 1) / page * page
			}
			return nil
		})
	}
	s.measured, s.took = now, time.Since(begun)
	if files == 0 {
		return
	}
	s.size, s.inodes = max(s.size, enough(2*bytes, policy.DefaultTmpSize)), max(s.inodes, enough(2*files, policy.DefaultTmpInodes))
}

// enough is least, doubled until it is n.
func enough(n, least int64) int64 {
	for least < n {
		least *= 2
	}
	return least
}
