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

// room measures what a command uses of its private /tmp. The zero value measures
// nothing.
type room struct {
	mu     sync.Mutex
	folder *os.File // keeps the file system after the end of the command

	size, bytes  int64 // bytes: the bound, and the maximum in use
	nodes, files int64 // likewise, the number of files
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

// sample measures the current use.
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

// reached returns a denial for each bound that was almost reached.
func (r *room) reached(at time.Time) []denial.Denial {
	r.sample()
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []denial.Denial
	if r.size > 0 && r.bytes > r.size-r.size/16 {
		list = append(list, needsRoom("tmp.size", 2*r.size, at))
	}
	if r.nodes > 0 && r.files > r.nodes-r.nodes/16 {
		list = append(list, needsRoom("tmp.inodes", 2*r.nodes, at))
	}
	return list
}

// needsRoom returns a denial that a larger bound of /tmp would avoid.
func needsRoom(field string, n int64, at time.Time) denial.Denial {
	text := "inodes = " + strconv.FormatInt(n, 10)
	if field == "tmp.size" {
		text = "size = " + policy.Quote(policy.FormatSize(n))
	}
	return denial.Denial{
		Kind: denial.Limit, Path: field, Field: field, Grant: strconv.FormatInt(n, 10), Suggest: "tmp { " + text + " }",
		Source: denial.Seccomp, Hint: true, First: at, Last: at,
	}
}

// measureEvery is the interval at which a survey measures a command's files in /tmp.
const measureEvery = 250 * time.Millisecond

// room adds to a survey the size of a private /tmp for its command: twice of what the
// command has created there, and at least the default.
func (s *survey) room(now time.Time) {
	const page = 4096
	begun := time.Now()
	var bytes, files int64
	for path := range s.tmp {
		_ = filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error {
			if err != nil || at == path && e.IsDir() {
				return nil //nolint:nilerr // removed meanwhile, or a folder
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
	s.size, s.inodes = max(s.size, doubleTo(2*bytes, policy.DefaultTmpSize)), max(s.inodes, doubleTo(2*files, policy.DefaultTmpInodes))
}

// doubleTo doubles least until it is at least n.
func doubleTo(n, least int64) int64 {
	for least < n {
		least *= 2
	}
	return least
}
