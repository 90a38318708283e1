// Package registry gets packages of extensions from a registry by its URL.
//
// A [Registry] is a URL with placeholders. [Registry.Open] asks for a package, and opens and
// checks it as install.Open does.
//
// # What is checked
//
// Packages are taken over https, from files, and over http from the loopback of this machine
// only; this holds for each of at most 5 redirects, and none leads from https to http. Size
// and time are bounded. If there is a file with the name of the package and ".sha256" after
// it, its digest must be that of the package. The package must be the one that was asked for.
//
// All functions are safe for concurrent use.
package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/hostsup/hostsup/extensions/install"
)

// Bounds of a request.
const (
	maxRedirects = 5
	maxDigest    = 4 << 10 // bytes of a .sha256 file
)

// Registry is where packages come from. Its fields must not be changed while it is used.
type Registry struct {
	// URL is the URL of a package, with {publisher}, {name}, {version} and {target} (a platform
	// such as linux-x64) in it.
	URL string
	// Target is the platform; default: install.Here.
	Target string
	// Timeout bounds a call of Open; default 5 minutes.
	Timeout time.Duration
	// Transport sends the requests; default: one of its own, which uses proxies by the
	// environment.
	Transport http.RoundTripper
	// Limits bound the package.
	Limits install.Limits
}

// Open gets a package. The caller must close it. Its Source is its URL, without a user,
// password or query. Errors: [ErrURL], [ErrNotFound], [ErrAnswer], install.ErrDigest,
// install.ErrLimit, those of install.Open, of the network, that of ctx.
func (r *Registry) Open(ctx context.Context, ref Ref) (*install.Package, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.Timeout, 5*time.Minute))
	defer cancel()
	if err := Check(r.URL); err != nil {
		return nil, err
	}
	asked := Ref{ref.ID, cmp.Or(ref.Version, Latest)}
	u, err := expand(r.URL, asked, cmp.Or(r.Target, install.Here()))
	if err != nil {
		return nil, err
	}
	g, done := r.getter()
	defer done()
	file, err := g.file(ctx, u, r.Limits.Defaults().Packed)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", asked, err)
	}
	shown := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	p, err := install.OpenFile(ctx, file, shown, r.Limits)
	if err != nil {
		return nil, err
	}
	if err := g.verify(ctx, u, p); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if !strings.EqualFold(p.ID, ref.ID) || ref.Version != "" && ref.Version != p.Version {
		return nil, errors.Join(fmt.Errorf("%w: %s is %s %s, and %v was asked for", ErrAnswer, shown, p.ID, p.Version, ref), p.Close())
	}
	return p, nil
}

// getter gets the files of one package.
type getter struct{ client *http.Client }

// getter returns a getter, and what ends its connections.
func (r *Registry) getter() (getter, func()) {
	client := &http.Client{Transport: r.Transport, CheckRedirect: redirect}
	if r.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.DisableCompression = true // what is sent is what is measured
		client.Transport = t
	}
	return getter{client}, client.CloseIdleConnections
}

// redirect checks the next URL.
func redirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("%w: more than %d redirects", ErrAnswer, maxRedirects)
	}
	if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return fmt.Errorf("%w: redirected from https to %s", ErrURL, req.URL.Redacted())
	}
	if req.URL.Scheme == "file" {
		return fmt.Errorf("%w: redirected to a file", ErrURL)
	}
	return permitted(req.URL)
}

// open opens the content of a URL.
func (g getter) open(ctx context.Context, u *url.URL) (io.ReadCloser, error) {
	if u.Scheme == "file" {
		return openFile(u.Path)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	answer, err := g.client.Do(req)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode == http.StatusOK {
		return answer.Body, nil
	}
	cause := ErrAnswer
	if answer.StatusCode == http.StatusNotFound || answer.StatusCode == http.StatusGone {
		cause = ErrNotFound
	}
	return nil, errors.Join(fmt.Errorf("%w: %s: status 200 expected, found %s", cause, u.Redacted(), answer.Status), answer.Body.Close())
}

// openFile opens a regular file; opening a pipe would wait for a writer.
func openFile(path string) (io.ReadCloser, error) {
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %w", ErrNotFound, err)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: %s: a regular file expected", ErrAnswer, path)
	}
	return os.Open(path)
}

// file gets a URL into a file without a name, so that nothing is left of it.
func (g getter) file(ctx context.Context, u *url.URL, limit int64) (_ *os.File, err error) {
	from, err := g.open(ctx, u)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	to, err := os.CreateTemp("", "hostsup-*.vsix")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, to.Close())
		}
	}()
	if err := os.Remove(to.Name()); err != nil {
		return nil, err
	}
	n, err := io.Copy(to, io.LimitReader(from, limit+1))
	switch {
	case err != nil:
		return nil, err
	case n > limit:
		return nil, fmt.Errorf("%w: %s: at most %d bytes expected", install.ErrLimit, u.Redacted(), limit)
	}
	return to, nil
}

// verify compares the digest of a package with that of the file beside it, if there is one.
func (g getter) verify(ctx context.Context, u *url.URL, p *install.Package) error {
	beside := *u
	beside.Path, beside.RawPath = u.Path+".sha256", u.EscapedPath()+".sha256"
	from, err := g.open(ctx, &beside)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer from.Close()
	text, err := io.ReadAll(io.LimitReader(from, maxDigest))
	if err != nil {
		return err
	}
	// As sha256sum prints it: the digest, then perhaps the name.
	digest, _, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	if err := p.Verify("sha256:" + strings.TrimPrefix(digest, "sha256:")); err != nil {
		return fmt.Errorf("%s: %w", beside.Redacted(), err)
	}
	return nil
}
