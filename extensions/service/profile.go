package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/blame"
)

// Bounds of profiles of hanging hosts.
const (
	maxSpan     = 2 * time.Second
	profileWait = 20 * time.Second // for a host that is never killed
	maxKept     = 4 << 20          // bytes of a profile that is kept with a crash report
	keptFiles   = 50               // the number of newest files in the folder, of all hosts
)

const suffixProfile = ".cpuprofile"

// hang is an unresponsive spell of a life, with its profile.
type hang struct {
	life   uint64
	cancel context.CancelFunc
	taken  *taken // nil before it is taken, or if that fails
}

// taken is a profile.
type taken struct {
	data   []byte
	span   time.Duration
	shares []blame.Share
}

// beginHang takes a profile of an unresponsive life in the background. It is evidence only if
// it is complete before the life is killed.
func (p *extHost) beginHang(life uint64) {
	p.endHang()
	if p.s.tree.Profile == nil || p.s.spec.NoProfiles || p.ref == nil || p.life != life {
		return
	}
	limit := p.ref.Spec().Liveness.KillAfter
	span := min(maxSpan, limit/2)
	if limit <= 0 {
		limit, span = profileWait, maxSpan
	}
	p.yieldInspector()
	ctx, cancel := context.WithTimeout(p.s.ctx, limit)
	h := &hang{life: life, cancel: cancel}
	p.hang = h
	index := p.s.index
	p.s.work.Go(func() {
		defer cancel()
		data, err := p.s.tree.Profile(ctx, p.name, life, span)
		var shares []blame.Share
		if err == nil {
			shares, err = index.Shares(data)
		}
		if err != nil {
			p.s.log.Debug("no profile of a host that hangs", "host", p.name, "life", life, "error", err)
			return
		}
		p.s.post(func() {
			if p.hang != h {
				return // the spell is over
			}
			h.taken = &taken{data, span, shares}
			p.s.log.Info("profile of a host that hangs", "host", p.name, "life", life, "shares", shareText(shares))
			p.s.fault(p.number, blame.Profile{Cell: p.cell, Life: life, Shares: shares})
		})
	})
}

// endHang ends an unresponsive spell.
func (p *extHost) endHang() {
	if p.hang != nil {
		p.hang.cancel()
		p.hang = nil
	}
}

// hangProfile returns the profile for the report of a crash. It writes the file in the
// background.
func (p *extHost) hangProfile(e actors.LifeEnd) *ProfileReport {
	if p.hang == nil || p.hang.taken == nil || p.hang.life != e.Life {
		return nil
	}
	t := p.hang.taken
	out := &ProfileReport{Seconds: t.span.Seconds(), Shares: t.shares}
	if out.Shares == nil {
		out.Shares = []blame.Share{}
	}
	dir := p.s.tree.Profiles
	if dir == "" || len(t.data) > maxKept {
		return out
	}
	name := fmt.Sprintf("%s-%s-%d%s", time.Now().UTC().Format("20060102T150405.000"), strings.ReplaceAll(p.name, "/", "_"), e.Life, suffixProfile)
	out.File = filepath.Join(dir, name)
	p.s.work.Go(func() {
		if err := keepProfile(dir, name, t.data); err != nil {
			p.s.log.Warn("a profile was not kept", "host", p.name, "error", err)
		}
	})
	return out
}

// keepProfile writes a profile to a folder and removes the oldest files beyond
// keptFiles. Names sort by time; files after name were dated by a clock that was ahead,
// and are removed first.
func keepProfile(dir, name string, data []byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".partial-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	list, err := os.ReadDir(dir) // sorted
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(e fs.DirEntry) bool { return !strings.HasSuffix(e.Name(), suffixProfile) })
	slices.SortStableFunc(list, func(a, b fs.DirEntry) int {
		switch ahead := a.Name() > name; {
		case ahead == (b.Name() > name):
			return 0
		case ahead:
			return -1
		}
		return 1
	})
	var errs []error
	for _, e := range list[:max(0, len(list)-keptFiles)] {
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func shareText(shares []blame.Share) string {
	parts := make([]string, len(shares))
	for i, s := range shares {
		parts[i] = fmt.Sprintf("%s %.0f %%", s.ID, s.Share*100)
	}
	return strings.Join(parts, ", ")
}

// resolved adds the targets of linked extension folders, because a runtime names files
// by the targets.
func resolved(list []extensions.Extension) []extensions.Extension {
	out := slices.Clip(list)
	for _, e := range list {
		if real, err := filepath.EvalSymlinks(e.Folder); err == nil && real != e.Folder {
			e.Folder = real
			out = append(out, e)
		}
	}
	return out
}
