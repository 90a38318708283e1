//go:build !hostsup_posix

package selftest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// userIDs is the attempt to take the user id that another start needs: by the
// name of a socket, and by a lock of the file that the ids are locked in.
func userIDs() *attempt {
	at := &attempt{
		class: Exhaustion, name: "user-ids", about: "keep root from starting others by taking the user id that they need",
		change: func(_ *stage, p *policy.Policy, _ *policy.Limits) { p.Network = policy.NetworkHost },
		prepare: func(s *stage) error {
			s.set("id", 1_500_000_000+rand.IntN(1<<28)) // nobody else's
			return nil
		},
		do: func(in *inside) error {
			id := in.num("id")
			name, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err == nil {
				err = unix.Bind(name, &unix.SockaddrUnix{Name: fmt.Sprintf("@hostsup-users-%d", id)})
			}
			file, err2 := unix.Open("/run/hostsup/users", unix.O_RDWR, 0)
			if err2 == nil {
				err2 = unix.FcntlFlock(uintptr(file), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: int64(id), Len: 1})
			}
			in.pause()
			return errors.Join(err, err2)
		},
		watch: func(s *stage, _ *run1) { s.vars["start"] = startAs(s) },
		judge: func(s *stage, r *run1) finding {
			err, ok := s.vars["start"].(error)
			switch {
			case ok:
				return escaped("%s", err)
			case !r.over:
				return unclear("%s", r.how())
			}
			return held("another one was started: %s", r.how())
		},
	}
	at.play = func(ctx context.Context, s *stage, b *box) (finding, error) {
		// The file has to be there before it can be locked.
		if err := startAs(s); err != nil {
			return finding{}, err
		}
		r, err := perform(ctx, at, s, b)
		if err != nil {
			return finding{}, err
		}
		return at.judge(s, r), nil
	}
	return at
}

// startAs starts a confined process that needs the user id of the stage.
func startAs(s *stage) error {
	var id int
	_, _ = fmt.Sscan(s.params["id"], &id)
	l, err := sandbox.NewLauncher(sandbox.Options{Users: sandbox.Range{First: id, Count: 1}})
	if err != nil {
		return err
	}
	p, limits := basePolicy(s)
	p.Level, p.Tmp, p.Work = policy.Landlock, policy.Tmp{}, policy.Work{}
	c, err := l.Start(&sandbox.Command{Name: "selftest", Path: "/bin/true", Args: []string{"true"}, Policy: &p, Limits: limits})
	if err == nil {
		<-c.Done()
		c.Release()
	}
	return errors.Join(err, l.Close())
}
