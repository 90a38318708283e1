//go:build !hostsup_posix

package selftest

import (
	"context"
	"errors"
	"os/exec"
	"strings"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// keptImage is an attempt on the image of a work folder that is kept, which the
// kernel has mounted.
func keptImage() []*attempt {
	const image = writeDir + "/kept.image"
	at := &attempt{class: Files, name: "kept-image", about: "write to the image of a work folder that is kept, while it is mounted", refused: []policy.Level{policy.Landlock}}
	at.prepare = func(s *stage) error {
		if s.level == "" {
			return s.file(image, "an image")
		}
		if _, err := exec.LookPath("mkfs.ext4"); err != nil {
			return missing("mkfs.ext4")
		}
		return nil
	}
	at.change = func(s *stage, p *policy.Policy, _ *policy.Limits) {
		p.Work = policy.Work{Path: s.path(writeDir, "kept"), Size: folderSize, Inodes: folderInodes, Keep: true}
	}
	at.do = func(in *inside) error { return put(in.get("write")+"/kept.image", in.get("mark"), 0) }
	at.play = func(ctx context.Context, s *stage, b *box) (finding, error) {
		r, err := perform(ctx, at, s, b)
		switch {
		case errors.Is(err, policy.ErrInvalid):
			return held("%s", err), nil
		case err != nil:
			return finding{}, err
		case strings.Contains(s.read(image), s.mark):
			return escaped("it was written"), nil
		}
		return held("%s", r.how()), nil
	}
	return []*attempt{at}
}
