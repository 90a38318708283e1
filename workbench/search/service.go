package search

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/glob"
)

// Options are those of a [Service].
type Options struct {
	// Folders returns the workspace folders, absolute paths. A nil function means that there are no folders.
	Folders  func() []string
	Settings Settings // nil: Defaults
	// Ripgrep is the path of the program that searches text, see [FindRipgrep]. With "", and for
	// hosts that are confined, files are read by this package.
	Ripgrep string
	// Launcher starts ripgrep. It must be set if Ripgrep is.
	Launcher *sandbox.Launcher
}

// Service answers the searches of MainThreadWorkspace. It must be made with [New].
type Service struct {
	opt    Options
	engine engine

	mu    sync.Mutex
	hosts workbench.Hosts
}

var _ workbench.Follower = (*Service)(nil)

// New returns a service.
func New(opt Options) *Service {
	if opt.Settings == nil {
		opt.Settings = Defaults{}
	}
	s := &Service{opt: opt, engine: walker{}}
	if opt.Ripgrep != "" {
		s.engine = &ripgrep{opt.Ripgrep, opt.Launcher}
	}
	return s
}

// Methods implements [workbench.Service].
func (s *Service) Methods() map[string]workbench.Method {
	return map[string]workbench.Method{
		"MainThreadWorkspace.$startFileSearch": {Do: s.startFileSearch},
		"MainThreadWorkspace.$startTextSearch": {Do: s.startTextSearch},
		"MainThreadWorkspace.$checkExists":     {Do: s.checkExists},
	}
}

// Up implements [workbench.Follower].
func (s *Service) Up(h *workbench.Host) {
	defer s.hosts.Enter(&s.mu, h)()
}

// Down implements [workbench.Follower].
func (s *Service) Down(h *workbench.Host) {
	defer s.hosts.Leave(&s.mu, h)()
}

// options are those of a search as hosts send them: IFileQueryBuilderOptions and
// ITextQueryBuilderOptions of VS Code.
type options struct {
	Include string `json:"includePattern"` // findFiles, findTextInFiles
	File    string `json:"filePattern"`    // findFiles2
	Exclude []struct {
		Pattern string         `json:"pattern"`
		URI     *workbench.URI `json:"uri"`
	} `json:"excludePattern"`
	MaxResults      *int     `json:"maxResults"`
	NoExcludes      bool     `json:"disregardExcludeSettings"`
	NoSearchExclude bool     `json:"disregardSearchExcludeSettings"`
	NoIgnore        *bool    `json:"disregardIgnoreFiles"`
	NoGlobalIgnore  *bool    `json:"disregardGlobalIgnoreFiles"`
	NoParentIgnore  *bool    `json:"disregardParentIgnoreFiles"`
	NoSymlinks      *bool    `json:"ignoreSymlinks"`
	FoldGlobs       bool     `json:"ignoreGlobCase"`
	Encoding        string   `json:"fileEncoding"`
	Preview         *preview `json:"previewOptions"`
	Context         int      `json:"surroundingContext"`
}

// folders returns what a search is about: one folder of its own, or those of the workspace.
func (s *Service) folders(api string, only *workbench.URI) ([]string, error) {
	if only == nil {
		if s.opt.Folders == nil {
			return nil, nil
		}
		return s.opt.Folders(), nil
	}
	dir, ok := only.FilePath()
	if !ok {
		return nil, workbench.NotSupported(api, "only folders on this machine are searched, not "+only.String())
	}
	return []string{dir}, nil
}

// query returns the query for a folder.
func (s *Service) query(guard workbench.Guard, folder string, o *options) (*query, error) {
	folder = filepath.Clean(folder)
	q := &query{folder: folder, fold: o.FoldGlobs}
	for _, p := range []string{o.Include, o.File} {
		if p == "" {
			continue
		}
		g, err := q.newGlob(p)
		if errors.Is(err, glob.ErrPattern) {
			return nil, workbench.Invalid("search: %v", err)
		}
		q.include = g
	}
	for _, e := range o.Exclude {
		if e.URI != nil {
			if dir, ok := e.URI.FilePath(); ok && filepath.Clean(dir) != folder {
				rel, err := filepath.Rel(folder, dir)
				if err != nil || !filepath.IsLocal(rel) {
					continue // about another folder
				}
				e.Pattern = filepath.ToSlash(rel) + "/" + e.Pattern
			}
		}
		q.addExclude(Exclude{Pattern: e.Pattern})
	}
	set := s.opt.Settings
	if !o.NoExcludes {
		q.addExclude(set.FilesExclude(folder)...)
		if !o.NoSearchExclude {
			q.addExclude(set.SearchExclude(folder)...)
		}
	}
	if q.excludes > maxRules {
		return nil, workbench.Invalid("search: the patterns to exclude have more than %d alternatives", maxRules)
	}
	unless := func(no *bool, by bool) bool {
		if no != nil {
			return !*no
		}
		return by
	}
	local, parent, global := set.IgnoreFiles(folder)
	q.local, q.parent, q.global = unless(o.NoIgnore, local), unless(o.NoParentIgnore, parent), unless(o.NoGlobalIgnore, global)
	q.parent = q.parent && q.local
	q.global = q.global && q.local
	q.follow = unless(o.NoSymlinks, set.FollowSymlinks(folder))
	if guard != nil { // a link may lead out of what the host may read, once it was checked
		q.files.guard, q.follow = guard, false
	}
	return q, nil
}

// each calls search for each folder that exists.
func (s *Service) each(c *workbench.Call, folders []string, o *options, search func(q *query) (bool, error)) error {
	for _, dir := range folders {
		q, err := s.query(c.Guard, dir, o)
		if err != nil {
			return err
		}
		if c.Guard == nil {
			if info, err := os.Stat(dir); err != nil || !info.IsDir() {
				continue // a folder of the workspace that was removed has no files
			}
		}
		if more, err := search(q); err != nil || !more {
			return err
		}
	}
	return nil
}

// isCancelled reports whether a search has ended because its results are no longer wanted.
func isCancelled(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() != nil
}

// startFileSearch answers (folder | null, options).
func (s *Service) startFileSearch(ctx context.Context, c *workbench.Call) (any, error) {
	var only *workbench.URI
	var o options
	if err := c.Args(&only, &o); err != nil {
		return nil, err
	}
	folders, err := s.folders("workspace.findFiles", only)
	if err != nil {
		return nil, err
	}
	if o.MaxResults != nil && *o.MaxResults <= 0 {
		o.MaxResults = nil
	}
	var found uris
	full := func() bool { return o.MaxResults != nil && found.n >= *o.MaxResults }
	err = s.each(c, folders, &o, func(q *query) (bool, error) {
		base := workbench.File(q.folder)
		err := q.walk(ctx, func(rel string) bool {
			found.add(base, rel)
			return !full()
		})
		return !full(), err
	})
	if isCancelled(ctx, err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return found.encoded(), nil
}

// uris is a list of URIs that is encoded as it grows, because it may be long.
type uris struct {
	n    int
	text []byte
}

// add adds the URI of a file below a folder.
func (u *uris) add(folder workbench.URI, rel string) {
	separator := byte('[')
	if u.n > 0 {
		separator = ','
	}
	u.n++
	u.text = append(u.text, separator)
	base := strings.TrimSuffix(folder.Path, "/")
	if folder.Authority == "" && isPlain(base) && isPlain(rel) {
		u.text = append(append(append(u.text, `{"$mid":1,"scheme":"file","path":"`...), base...), '/')
		u.text = append(append(u.text, rel...), `"}`...)
		return
	}
	folder.Path = base + "/" + rel
	one, err := json.Marshal(folder)
	if err != nil {
		panic("search: " + err.Error()) // strings can be encoded
	}
	u.text = append(u.text, one...)
}

func (u *uris) encoded() codec.Raw {
	if u.n == 0 {
		return codec.Raw("[]")
	}
	return append(u.text, ']')
}

// isPlain reports whether a text is the same as a string of JSON.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// checkExists answers (folders, patterns).
func (s *Service) checkExists(ctx context.Context, c *workbench.Call) (any, error) {
	var uris []workbench.URI
	var patterns []string
	if err := c.Args(&uris, &patterns); err != nil {
		return nil, err
	}
	var folders []string
	for i := range uris {
		dirs, err := s.folders("workspaceContains", &uris[i])
		if err != nil {
			return nil, err
		}
		folders = append(folders, dirs...)
	}
	wanted, err := glob.Any(patterns...)
	if err != nil {
		return nil, workbench.Invalid("workspaceContains: %v", err)
	}
	exists := false
	err = s.each(c, folders, &options{}, func(q *query) (bool, error) {
		q.include = wanted
		err := q.walk(ctx, func(string) bool {
			exists = true
			return false
		})
		return !exists, err
	})
	if isCancelled(ctx, err) {
		return false, nil
	}
	return exists, err
}

// startTextSearch answers (pattern, folder | null, options, request).
func (s *Service) startTextSearch(ctx context.Context, c *workbench.Call) (any, error) {
	var only *workbench.URI
	var in info
	var o options
	var request json.RawMessage
	if err := c.Args(&in, &only, &o, &request); err != nil {
		return nil, err
	}
	p, err := newPattern(in)
	if err != nil {
		return nil, err
	}
	set, err := newCharset(o.Encoding)
	if err != nil {
		return nil, err
	}
	folders, err := s.folders("workspace.findTextInFiles", only)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	host := s.hosts[c.Host.Name()]
	s.mu.Unlock()
	if host == nil || host.Life() != c.Life {
		return nil, nil
	}
	t := text{host: host, request: request, options: &o}
	engine := s.engine
	if c.Guard != nil {
		engine = walker{}
	}
	err = s.each(c, folders, &o, func(q *query) (bool, error) {
		err := engine.text(ctx, q, p, set, func(rel string, blocks []block) bool { return t.found(q, set, rel, blocks) })
		return !t.limit, err
	})
	if isCancelled(ctx, err) {
		return nil, nil
	}
	return map[string]bool{"limitHit": t.limit}, err
}

// text sends what a search of text has found.
type text struct {
	host    *workbench.Host
	request json.RawMessage
	options *options
	n       int  // matches that were sent
	limit   bool // there were more
}

// found sends the results of a file; false if there are enough.
func (t *text) found(q *query, set charset, rel string, blocks []block) bool {
	var results []lineResult
	for _, b := range blocks {
		results = append(results, b.results(t.options.Preview)...)
	}
	n := count(results)
	if n == 0 {
		return true
	}
	if n > maxMatches {
		t.limit, n = true, maxMatches
		results = cut(results, n)
	}
	if limit := t.options.MaxResults; limit != nil && *limit > 0 && t.n+n > *limit {
		t.limit = true
		if results = cut(results, *limit-t.n); len(results) == 0 {
			return false
		}
	}
	t.n += n
	if t.options.Context > 0 {
		if whole, ok := q.read(rel, set); ok {
			results = withContext(results, whole, t.options.Context)
		}
	}
	file := fileResult{workbench.File(filepath.Join(q.folder, filepath.FromSlash(rel))), results}
	t.host.Tell("ExtHostWorkspace.$handleTextSearchResult", workbench.Params(file, t.request))
	return !t.limit
}
