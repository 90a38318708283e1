package files

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/disk"
)

// provider is a file system that an extension has registered, or one of the editor.
type provider struct {
	own          FileSystem // nil: it is that of an extension
	host         *workbench.Host
	handle       int
	capabilities int
}

// watch is what somebody watches in a scheme.
type watch struct {
	id      int // for the provider
	uri     workbench.URI
	options json.RawMessage
}

// watchKey names a request to watch: by a host, and the number that it has given.
type watchKey struct {
	who     string
	session float64
}

// maxSchemes bounds the file systems of extensions.
const maxSchemes = 1000

// onDisk reports whether the files of a scheme are those of this machine.
func onDisk(scheme string) bool { return scheme == "file" || scheme == workbench.LogScheme }

func (s *Service) register(c *workbench.Call) (any, error) {
	p := &provider{}
	var scheme string
	if err := c.Args(&p.handle, &scheme, &p.capabilities); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.host = s.hosts[c.Host.Name()]; p.host == nil || p.host.Life() != c.Life {
		return nil, workbench.Invalid("the host is not up")
	}
	if _, taken := s.schemes[scheme]; taken || scheme == "" || onDisk(scheme) {
		return nil, disk.Fail(disk.NameUnknown, "a file system provider for the scheme %q is already registered", scheme)
	}
	if len(s.schemes) >= maxSchemes {
		return nil, disk.Fail(disk.NameUnknown, "%d file system providers are registered, which is the limit", maxSchemes)
	}
	s.schemes[scheme] = p
	s.hosts.Tell(acceptInfos, infos(scheme, p.capabilities))
	for _, w := range s.watches {
		if w.uri.Scheme == scheme {
			p.watch(w)
		}
	}
	return nil, nil
}

func (s *Service) unregister(c *workbench.Call) (any, error) {
	var handle int
	if err := c.Args(&handle); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if scheme := s.schemeOf(c, handle); scheme != "" {
		s.drop(scheme)
	}
	return nil, nil
}

// schemeOf returns the scheme of a provider of a host. The caller must hold mu.
func (s *Service) schemeOf(c *workbench.Call, handle int) string {
	for scheme, p := range s.schemes {
		if p.own == nil && p.handle == handle && p.host.Name() == c.Host.Name() && p.host.Life() == c.Life {
			return scheme
		}
	}
	return ""
}

// drop removes a provider. The caller must hold mu.
func (s *Service) drop(scheme string) {
	delete(s.schemes, scheme)
	s.hosts.Tell(acceptInfos, infos(scheme, nil))
}

func (s *Service) changed(c *workbench.Call) (any, error) {
	var handle int
	var changes []Change
	if err := c.Args(&handle, &changes); err != nil {
		return nil, err
	}
	s.mu.Lock()
	scheme := s.schemeOf(c, handle)
	s.mu.Unlock()
	if scheme == "" {
		return nil, disk.Fail(disk.NameUnavailable, "unknown file system provider")
	}
	for _, change := range changes {
		if change.Resource.Scheme != scheme {
			return nil, workbench.Invalid("a change of a file of the scheme %q expected, not of %q", scheme, change.Resource.Scheme)
		}
	}
	if s.opt.Changed != nil && len(changes) > 0 {
		s.opt.Changed(changes)
	}
	return nil, nil
}

func (s *Service) ensure(ctx context.Context, c *workbench.Call) (any, error) {
	var scheme string
	if err := c.Args(&scheme); err != nil {
		return nil, err
	}
	return nil, s.activate(ctx, scheme)
}

// activate activates the extensions that have the files of a scheme, unless it is served already.
func (s *Service) activate(ctx context.Context, scheme string) error {
	if s.Serves(scheme) || onDisk(scheme) || s.opt.Activate == nil {
		return nil
	}
	return s.opt.Activate(ctx, "onFileSystem:"+scheme)
}

// Serves reports whether an extension has registered a file system for a scheme, or the editor has one.
func (s *Service) Serves(scheme string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.schemes[scheme] != nil
}

// provider returns what serves a scheme.
func (s *Service) provider(ctx context.Context, u workbench.URI) (*provider, error) {
	err := s.activate(ctx, u.Scheme)
	s.mu.Lock()
	p := s.schemes[u.Scheme]
	s.mu.Unlock()
	if p == nil {
		text := "ENOPRO: no file system provider found for resource '" + u.String() + "'"
		if err != nil {
			text += ": " + err.Error()
		}
		return nil, disk.Fail(disk.NameUnavailable, "%s", text)
	}
	return p, nil
}

// Watch makes the provider of a scheme watch a file or folder, now or as soon as there is one. who and
// session name the request: a host, and the number that it has given. options are those of VS Code.
// Watch does not block. [Service.Unwatch] ends it.
func (s *Service) Watch(who string, session float64, u workbench.URI, options json.RawMessage) {
	s.Unwatch(who, session)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastWatch++
	w := &watch{s.lastWatch, u, options}
	s.watches[watchKey{who, session}] = w
	if p := s.schemes[u.Scheme]; p != nil {
		p.watch(w)
	}
}

// Unwatch ends a [Service.Watch].
func (s *Service) Unwatch(who string, session float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := watchKey{who, session}
	w := s.watches[key]
	delete(s.watches, key)
	if w == nil {
		return
	}
	if p := s.schemes[w.uri.Scheme]; p != nil && p.own == nil {
		p.host.Tell("ExtHostFileSystem.$unwatch", workbench.Params(p.handle, w.id))
	}
}

func (p *provider) watch(w *watch) {
	if p.own != nil { // all of its changes are told
		return
	}
	p.host.Tell("ExtHostFileSystem.$watch", workbench.Params(p.handle, w.id, w.uri, w.options))
}

// call calls the provider. The errors of extensions get the names of this package.
func (p *provider) call(ctx context.Context, method string, out any, args ...any) error {
	err := p.host.Call(ctx, "ExtHostFileSystem."+method, workbench.Params(append([]any{p.handle}, args...)...), out)
	var e *codec.Error
	if errors.As(err, &e) {
		if named := named.FindStringSubmatch(e.Name); named != nil {
			return disk.Fail(named[1], "%s", e.Message)
		}
		return err
	}
	if err != nil {
		return disk.Fail(disk.NameUnavailable, "the host %s of the file system: %v", p.host.Name(), err)
	}
	return nil
}

// named matches the names of vscode.FileSystemError.
var named = regexp.MustCompile(`^(.+) \(FileSystemError\)$`)

// writable returns the error of a change in a file system that is read only.
func (p *provider) writable(u workbench.URI) error {
	if p.capabilities&isReadOnly != 0 {
		return disk.Fail(workbench.NameNoPermissions, "%s: its file system is read only", u)
	}
	return nil
}
