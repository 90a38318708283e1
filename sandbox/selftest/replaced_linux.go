//go:build !hostsup_posix

package selftest

import (
	"context"
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// replaced are attempts on the next life: the first one puts a symbolic link, or
// another folder, where the policy grants a folder, or closes a folder.
func replaced() []*attempt {
	inner := writeDir + "/inner"
	// link has a granted folder lead out.
	link := func(in *inside) error {
		return errors.Join(unix.Rmdir(in.get("inner")), os.Symlink(in.get("outside"), in.get("inner")))
	}
	// through uses what the granted folder leads to.
	through := func(in *inside) error {
		return errors.Join(in.sayFile(in.get("inner")+"/secret"), put(in.get("inner")+"/new", "new", os.O_CREATE))
	}
	swap := func(name, about string, change func(s *stage, life string, p *policy.Policy), first, then func(in *inside) error) *attempt {
		at := &attempt{class: Files, name: name, about: about}
		at.prepare = func(s *stage) error {
			s.set("inner", s.path(inner))
			// Nobody but the confined process is to be able to: a sticky folder is safe.
			return errors.Join(os.Chmod(s.dir, 0o777|os.ModeSticky), os.Mkdir(s.path(inner), 0o777), os.Chmod(s.path(inner), 0o777), os.Chmod(s.path(outsideDir), 0o777))
		}
		at.change = func(s *stage, p *policy.Policy, _ *policy.Limits) { change(s, s.params["life"], p) }
		at.do = func(in *inside) error {
			if in.get("life") == "first" {
				return first(in)
			}
			return then(in)
		}
		at.play = func(ctx context.Context, s *stage, b *box) (finding, error) { return at.lives(ctx, s, b) }
		return at
	}
	// closed has the pattern of the next life not find what it denies.
	closed := func(name, about string, mode uint32) *attempt {
		at := swap(name, about, func(s *stage, _ string, p *policy.Policy) {
			p.Deny = append(p.Deny, s.path(writeDir, "*", ".denied"))
		}, func(in *inside) error { return unix.Chmod(in.get("inner"), mode) }, func(in *inside) error {
			return errors.Join(unix.Chmod(in.get("inner"), 0o777), in.sayFile(in.get("inner")+"/.denied"))
		})
		prepare := at.prepare
		at.prepare = func(s *stage) error {
			s.onClose(func() { _ = os.Chmod(s.path(inner), 0o777) }) // to be removed
			return errors.Join(prepare(s), s.file(inner+"/.denied", s.secret))
		}
		at.refused = []policy.Level{policy.Landlock}
		return at
	}
	own := func(s *stage, _ string, p *policy.Policy) { p.Write = append(p.Write, s.path(inner)) }
	return []*attempt{
		swap("next-life-link", "put a symbolic link in the place of a granted folder for the next life", own, link, through),
		swap("next-life-link-read", "put a symbolic link in the place of a folder that is granted for reading", func(s *stage, _ string, p *policy.Policy) {
			p.Read = append(p.Read, s.path(inner))
		}, link, func(in *inside) error { return in.sayFile(in.get("inner") + "/secret") }),
		swap("next-life-link-above", "put a symbolic link above a granted folder", func(s *stage, _ string, p *policy.Policy) {
			p.Write = append(p.Write, "-"+s.path(inner, "outside"))
		}, func(in *inside) error {
			return errors.Join(unix.Rmdir(in.get("inner")), os.Symlink(in.get("dir"), in.get("inner")))
		}, func(in *inside) error { return in.sayFile(in.get("inner") + "/outside/secret") }),
		swap("other-host-link", "put a symbolic link where the policy of another host grants a folder", func(s *stage, life string, p *policy.Policy) {
			if life != "first" {
				p.Write, p.Read = nil, append(p.Read, s.path(writeDir), s.path(inner))
			}
		}, link, func(in *inside) error { return in.sayFile(in.get("inner") + "/secret") }),
		closed("next-life-closed", "close a folder for the next life, so that what is denied in it is not found", 0),
		closed("next-life-unsearchable", "the same for a folder that can be listed but not entered", 0o400),
	}
}

// lives starts an attempt twice, as its policy has it for each life. A start that
// is refused holds.
func (at *attempt) lives(ctx context.Context, s *stage, b *box) (finding, error) {
	s.set("life", "first")
	r, err := perform(ctx, at, s, b)
	switch {
	case err != nil:
		return finding{}, err
	case r.err != "":
		return unclear("the first life: %s", r.how()), nil
	}
	s.set("life", "next")
	r, err = perform(ctx, at, s, b)
	switch {
	case err != nil && errors.Is(err, policy.ErrInvalid):
		return held("%s", err), nil
	case err != nil:
		return finding{}, err
	case r.saw(s.secret):
		return escaped("the secret: %s", r.how()), nil
	case !strings.Contains(s.read("outside/new"), "no such file"):
		return escaped("a file was made outside"), nil
	}
	return held("%s", r.how()), nil
}
