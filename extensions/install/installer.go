package install

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hostsup/hostsup/extensions/install/index"
)

// Keep is how many versions of an extension are kept by default, with the one in use.
const Keep = 3

// Installer changes which extensions are installed in a folder. Its fields must not be
// changed while it is used.
type Installer struct {
	// Dir is the folder, which hosts scan. It is made if it is missing.
	Dir string
	// Products are the versions of the editors whose hosts scan the folder, such as
	// "1.100.3". An extension with code must fit all of them. Without one, engines.vscode is
	// only checked for its form.
	Products []string
	// Target is the platform of the hosts, by VS Code's name; default: [Here].
	Target string
	// Keep is how many versions of an extension are kept, with the one in use; default
	// [Keep], at least 1.
	Keep int
	// Wait is how long an operation waits for another one, also of another process, that
	// changes the folder; 0: not at all.
	Wait time.Duration

	step func(name string) // called before each step; may be nil
}

// Result is what an operation has done.
type Result struct {
	ID      string `json:"id"`
	Version string `json:"version"` // in use now; "" if the extension is uninstalled
	Before  string `json:"before"`  // in use before; "" if none was
	Digest  string `json:"digest"`  // of Version
	Folder  string `json:"folder"`  // absolute path of Version
	Engine  string `json:"engine"`  // engines.vscode of Version
	Source  string `json:"source"`  // where Version came from
	Changed bool   `json:"changed"` // false: Version with this digest was in use already
}

// Install makes a package the version in use of its extension. A version that is kept with
// the same digest is used again instead of being unpacked. Errors: [ErrManifest],
// [ErrTarget], [ErrBusy], [ErrFolder], manifest.ErrIncompatible, those of the files, that of
// ctx; the state is as before then. If writing to the disk failed last, it may be the new one.
func (in *Installer) Install(ctx context.Context, p *Package) (Result, error) {
	if want := cmp.Or(in.Target, Here()); p.Target != "" && p.Target != want {
		return Result{}, fmt.Errorf("%w: %s %s is for %s, and this is %s", ErrTarget, p.ID, p.Version, p.Target, cmp.Or(want, "unknown to VS Code"))
	}
	if err := in.fits(p); err != nil {
		return Result{}, err
	}
	var out Result
	err := in.change(ctx, true, func(t *state) error {
		e := t.index.Find(p.ID)
		folder := folderName(p)
		kept := e != nil && e.At(folder) >= 0 && t.isFolder(folder)
		if kept && e.Use == folder {
			out = t.result(e, e.InUse().Version, false)
			return nil
		}
		if !kept {
			if err := t.unpack(ctx, p, folder); err != nil {
				return err
			}
		}
		v := index.Version{
			Version: p.Version, Folder: folder, Digest: p.Digest, Target: p.Target, Engine: p.Engine, Source: p.Source,
			Installed: time.Now().UTC().Truncate(time.Second),
		}
		before := ""
		if e == nil {
			t.index.Extensions = append(t.index.Extensions, index.Extension{})
			e = &t.index.Extensions[len(t.index.Extensions)-1]
		} else {
			before = e.InUse().Version
		}
		use(e, p.ID, v, in.keep())
		out = t.result(e, before, true)
		return t.commit()
	})
	return out, err
}

// use makes a version the one in use. The one that was in use becomes the one before it, also
// after a rollback.
func use(e *index.Extension, id string, v index.Version, keep int) {
	last := e.At(e.Use)
	if last >= 0 {
		was := e.Versions[last]
		e.Versions = append(slices.Delete(e.Versions, last, last+1), was)
	}
	e.Versions = slices.DeleteFunc(e.Versions, func(old index.Version) bool { return old.Folder == v.Folder })
	e.Versions = append(e.Versions, v)
	e.Versions = slices.Delete(e.Versions, 0, max(0, len(e.Versions)-keep))
	e.ID, e.Use = id, v.Folder
}

// Rollback makes the version the one in use that was in use before it, and that is kept. The
// one it replaces is kept, too: installing it again does not unpack it. Errors are as those of
// Install, [ErrNotInstalled] and [ErrNoVersion].
func (in *Installer) Rollback(ctx context.Context, id string) (Result, error) {
	var out Result
	err := in.change(ctx, false, func(t *state) error {
		e := t.index.Find(id)
		if e == nil {
			return fmt.Errorf("%w: %s: %s", ErrNotInstalled, in.Dir, id)
		}
		at := e.At(e.Use) - 1
		if at < 0 {
			return fmt.Errorf("%w: %s %s", ErrNoVersion, e.ID, e.InUse().Version)
		}
		v := e.Versions[at]
		text, err := t.root.ReadFile(v.Folder + "/package.json")
		if err != nil {
			return fmt.Errorf("%w: %s %s: %w", ErrNoVersion, e.ID, v.Version, err)
		}
		if err := in.fits(&Package{Source: t.path(v.Folder), manifest: text}); err != nil {
			return err
		}
		before := e.InUse().Version
		e.Use = v.Folder
		out = t.result(e, before, true)
		return t.commit()
	})
	return out, err
}

// Uninstall removes an extension with all its versions from the list. Their files are removed
// by [Installer.Clean] or by the next operation, so that a host that runs can end the extension
// first. Errors: [ErrNotInstalled], [ErrBusy], [ErrFolder], those of the files, that of ctx.
func (in *Installer) Uninstall(ctx context.Context, id string) (Result, error) {
	var out Result
	err := in.change(ctx, false, func(t *state) error {
		e := t.index.Find(id)
		if e == nil {
			return fmt.Errorf("%w: %s: %s", ErrNotInstalled, in.Dir, id)
		}
		out = Result{ID: e.ID, Before: e.InUse().Version, Changed: true}
		t.index.Extensions = slices.DeleteFunc(t.index.Extensions, func(o index.Extension) bool { return o.ID == out.ID })
		return t.commit()
	})
	return out, err
}

// Clean removes the files of versions that are not listed, and what a killed process left.
func (in *Installer) Clean(ctx context.Context) error {
	return in.change(ctx, false, func(*state) error { return nil })
}

// List returns the list of the folder. It does not wait for operations.
func (in *Installer) List() ([]index.Extension, error) {
	x, err := index.Read(in.Dir)
	if err != nil {
		return nil, err
	}
	return x.Extensions, nil
}

func (in *Installer) keep() int { return max(1, cmp.Or(in.Keep, Keep)) }

// fits checks engines.vscode for all products.
func (in *Installer) fits(p *Package) error {
	for _, product := range in.Products {
		if _, err := p.parse(product); err != nil {
			return err
		}
	}
	return nil
}

// folderName returns the name of the folder of a package. The same name has the same content.
func folderName(p *Package) string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789.-", r) {
			return r
		}
		return '_'
	}, strings.ToLower(p.ID+"-"+p.Version))
	digest := strings.TrimPrefix(p.Digest, "sha256:")
	return name[:min(len(name), 150)] + "-" + digest[:32]
}
