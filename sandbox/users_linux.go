//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/hostsup/hostsup/internal/sys"
)

// Defaults of Options.Users.
const (
	firstUser = 2_000_000_000
	userCount = 65536
	userBlock = 256 // claimed at a time
)

// users gives out user ids, each to one living tree. Two Launchers of one
// machine never give out the same: each claims blocks of the range, by a name
// that the kernel gives to one process at a time.
type users struct {
	Range

	mu     sync.Mutex
	blocks []userClaim
	taken  map[int]bool
}

type userClaim struct {
	first, count int
	lock         *os.File
}

var errNoUser = errors.New("all user ids of the range are in use")

// take gives out the lowest id that is free: what is kept for it serves again.
func (u *users) take() (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.taken == nil {
		u.taken = map[int]bool{}
	}
	total := 0
	for _, b := range u.blocks {
		total += b.count
	}
	for i := range total {
		if id := u.at(i); !u.taken[id] {
			u.taken[id] = true
			return id, nil
		}
	}
	if err := u.claim(); err != nil {
		return 0, err
	}
	id := u.blocks[len(u.blocks)-1].first
	u.taken[id] = true
	return id, nil
}

// at is the i-th id of the blocks.
func (u *users) at(i int) int {
	for _, b := range u.blocks {
		if i < b.count {
			return b.first + i
		}
		i -= b.count
	}
	return -1
}

func (u *users) give(id int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.taken, id)
}

// claim takes a block that nobody has.
func (u *users) claim() error {
	first, count := u.First, u.Count
	if first == 0 {
		first = firstUser
	}
	if count == 0 {
		count = userCount
	}
	mine := map[int]bool{}
	for _, b := range u.blocks {
		mine[b.first] = true
	}
	for at := first; at < first+count; at += userBlock {
		if mine[at] {
			continue
		}
		lock, err := sys.ClaimName(fmt.Sprintf("hostsup-users-%d", at))
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		u.blocks = append(u.blocks, userClaim{at, min(userBlock, first+count-at), lock})
		return nil
	}
	return fmt.Errorf("%w (%d to %d)", errNoUser, first, first+count-1)
}

// close gives the blocks back, after the last tree is gone.
func (u *users) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, b := range u.blocks {
		b.lock.Close()
	}
	u.blocks, u.taken = nil, nil
}
