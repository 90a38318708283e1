package documents

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/text"
)

// Bounds of documents, as in VS Code.
const (
	maxSize     = 50 << 20 // of a document that extensions get, in bytes or UTF-16 units
	maxUnused   = 50       // documents that nothing but an extension has opened
	maxUnusedIn = 80 << 20 // UTF-16 units in these
)

// Bounds of all documents that are open. VS Code leaves them to the memory of its process; here hosts
// must not exhaust that of the supervisor.
const (
	maxOpen   = 10_000
	maxWeight = 1 << 30 // bytes, with what can be undone
)

// plain is the language of a document without another.
const plain = "plaintext"

// Errors of documents. They reach extensions by these names.
var (
	// ErrConflict means that a file has changed on disk since the document was read or saved.
	ErrConflict = errors.New("the file has changed on disk since it was read")
	// ErrTooLarge means that a document has more than 50 MiB.
	ErrTooLarge = errors.New("files above 50MB cannot be synchronized with extensions")
	// ErrFull means that the documents that are open take all the memory that they may take.
	ErrFull = errors.New("too many or too large documents are open")
	// ErrBinary means that a file is no text.
	ErrBinary = errors.New("file seems to be binary and cannot be opened as text")
	// ErrClosed means that the service or the document was closed.
	ErrClosed = errors.New("it was closed")
)

// document is an open document. The service guards it.
type document struct {
	uri      workbench.URI
	key      string // uri as text
	model    *text.Model
	language string
	encoding string
	saved    int // the state of the model that is on disk; -1 if no state is on disk
	dirty    bool
	virtual  bool              // from a provider: it cannot be edited
	onDisk   [sha256.Size]byte // of the bytes that were read or written last
	clients  int
	pins     int // clients that keep a tab of it
	weight   int // about the bytes that it takes
	used     int // when it was opened last, by nextID
	saving   chan struct{}
	stop     func()    // ends watching
	next     *document // what replaced it
	parked   bool      // closed by undo, until redo opens it again
}

func (d *document) dto() documentDTO {
	t := d.model.Text()
	return documentDTO{d.uri, d.model.Version(), lines{t}, t.EOL(), d.language, d.dirty, d.encoding}
}

func (d *document) unwatch() {
	if d.stop != nil {
		d.stop()
		d.stop = nil
	}
}

// name returns the name of a document for a tab.
func (d *document) name() string { return path.Base(d.uri.Path) }

// opening is a document that is being opened.
type opening struct{ done chan struct{} }

// source is what a document is made of.
type source struct {
	text     *text.Text
	encoding string
	virtual  bool
	onDisk   [sha256.Size]byte
	dirty    bool
	language string        // "": that of the path
	uri      workbench.URI // of a file that a workspace edit makes
}

// open returns a document, which is opened if it is not. If caller is not nil, the file must be one
// that the caller may read.
func (s *Service) open(ctx context.Context, uri workbench.URI, encoding string, caller *workbench.Call) (*document, error) {
	key := uri.String()
	fail := func(err error) (*document, error) {
		return nil, refused("cannot open %s. Detail: %w", key, err)
	}
	if err := mayRead(caller, uri); err != nil {
		return fail(err)
	}
	for {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return fail(ErrClosed)
		}
		if d := s.documents[key]; d != nil {
			d.used = s.nextID()
			s.mu.Unlock()
			if encoding != "" && encoding != d.encoding {
				return fail(workbench.NotSupported("workspace.openTextDocument", "it is open with the encoding "+d.encoding))
			}
			return d, nil
		}
		o := s.opening[key]
		if o == nil {
			o = &opening{make(chan struct{})}
			s.opening[key] = o
			s.mu.Unlock()
			from, err := s.load(ctx, uri, encoding, caller)
			s.mu.Lock()
			delete(s.opening, key)
			close(o.done)
			var d *document
			if err == nil && caller != nil {
				err = s.room(from.text.Weight(), 1)
			}
			if err == nil {
				d = s.add(uri, from)
			}
			s.mu.Unlock()
			if err != nil {
				return fail(err)
			}
			return d, nil
		}
		s.mu.Unlock()
		select {
		case <-o.done:
		case <-ctx.Done():
			return fail(ctx.Err())
		}
	}
}

// load reads the text of a document.
func (s *Service) load(ctx context.Context, uri workbench.URI, encoding string, caller *workbench.Call) (source, error) {
	switch {
	case uri.Scheme == "untitled":
		return s.untitled(uri, caller)
	case uri.Scheme != "file":
		return s.provided(ctx, uri, encoding)
	}
	file, ok := uri.FilePath()
	if !ok {
		return source{}, fmt.Errorf("%s is not the path of a file", uri)
	}
	data, err := readBounded(files(caller), file)
	if err != nil {
		return source{}, err
	}
	return decoded(data, encoding)
}

// untitled returns the source of a document that is not saved yet: its path, if it has one, must be
// free.
func (s *Service) untitled(uri workbench.URI, caller *workbench.Call) (source, error) {
	from := source{text: text.New("", text.LF), encoding: utf8Name}
	if file, ok := untitledPath(uri); ok {
		from.dirty = true
		if err := mayRead(caller, workbench.File(file)); err != nil {
			return source{}, err
		}
		if _, err := files(caller).Stat(file); !missing(err) {
			return source{}, errors.New("file already exists")
		}
	}
	return from, nil
}

// untitledPath returns where an untitled document will be saved; false if it has no place yet.
func untitledPath(uri workbench.URI) (string, bool) {
	if uri.Scheme != "untitled" || !strings.HasPrefix(uri.Path, "/") {
		return "", false
	}
	uri.Scheme = "file"
	return uri.FilePath()
}

// decoded returns the source of a file with a content.
func decoded(data []byte, encoding string) (source, error) {
	if len(data) > maxSize {
		return source{}, ErrTooLarge
	}
	content, encoding, err := decode(data, encoding)
	if err != nil {
		return source{}, err
	}
	return source{text: text.New(content, text.LF), encoding: encoding, onDisk: sha256.Sum256(data)}, nil
}

// add adds a document and tells the hosts. The caller must hold mu.
func (s *Service) add(uri workbench.URI, from source) *document {
	d := s.make(uri, from)
	s.sync()
	s.opened(d.language)
	return d
}

// make adds a document. The caller must hold mu and call sync.
func (s *Service) make(uri workbench.URI, from source) *document {
	d := &document{
		uri: uri, key: uri.String(), model: text.NewModel(from.text), encoding: from.encoding, language: from.language,
		virtual: from.virtual, onDisk: from.onDisk, dirty: from.dirty, used: s.nextID(),
	}
	if from.dirty {
		d.saved = -1
	}
	if d.language == "" {
		d.language = s.languageOf(d)
	}
	d.weight = d.model.Weight()
	s.documents[d.key] = d
	switch file, ok := uri.FilePath(); {
	case s.closed || d.virtual:
	case ok && s.opt.Watcher != nil:
		d.stop = s.opt.Watcher.Watch(file, func() { s.changedOnDisk(d) })
	case s.hasProvidedFile(uri):
		d.stop = s.opt.Files.Watch(uri)
	}
	return d
}

// opened reports the language of a document. The caller must hold mu.
func (s *Service) opened(language string) {
	if s.opt.Opened != nil && !s.languages[language] && !s.closed {
		s.languages[language] = true
		s.work.Go(func() { s.opt.Opened(s.ctx, language) })
	}
}

func (s *Service) languageOf(d *document) string {
	if s.opt.Languages == nil {
		return plain
	}
	first := d.model.Text().Line(1)
	if len(first) > 1000 {
		first = first[:1000]
		for !utf8.ValidString(first) {
			first = first[:len(first)-1]
		}
	}
	if language := s.opt.Languages.Of(d.uri.Path, first); language != "" {
		return language
	}
	return plain
}

// room returns [ErrFull] if there is no room for so many bytes and documents more. What can be undone is
// forgotten before. The caller must hold mu.
func (s *Service) room(bytes, documents int) error {
	if len(s.documents)+documents > maxOpen {
		return ErrFull
	}
	total := func() int {
		n := bytes + int(s.keptBytes())
		for _, d := range s.documents {
			n += d.weight
		}
		return n
	}
	if total() <= maxWeight {
		return nil
	}
	for _, d := range s.documents {
		d.model.Forget()
		d.weight = d.model.Weight()
	}
	s.past = nil
	if total() > maxWeight {
		return ErrFull
	}
	return nil
}

// remove closes a document with its tabs. The caller must hold mu and call sync.
func (s *Service) remove(d *document) {
	if s.documents[d.key] != d {
		return
	}
	d.unwatch()
	delete(s.documents, d.key)
	s.closeTabsOf(d)
	s.forget(d)
}

// retire closes documents that nothing holds, if there are too many. The caller must hold mu.
func (s *Service) retire() {
	shown := map[*document]bool{}
	for _, g := range s.groups {
		for _, t := range g.tabs {
			shown[t.doc] = true
		}
	}
	for {
		var oldest *document
		count, units := 0, 0
		for _, d := range s.documents {
			if shown[d] || d.dirty || d.clients > 0 {
				continue
			}
			count++
			units += d.model.Text().Len()
			if oldest == nil || d.used < oldest.used {
				oldest = d
			}
		}
		if count <= 1 || count <= maxUnused && units <= maxUnusedIn {
			return
		}
		s.remove(oldest)
	}
}

// refused returns an error for an extension. The format must wrap the cause.
func refused(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	var named *codec.Error
	name := "Error"
	if errors.As(err, &named) && named.Name != "" {
		name = named.Name
	}
	return &failure{&codec.Error{Name: name, Message: err.Error()}, err}
}

// failure is an error that reaches the extension with a name, and has a cause.
type failure struct {
	named *codec.Error
	cause error
}

func (f *failure) Error() string   { return f.named.Message }
func (f *failure) Unwrap() []error { return []error{f.named, f.cause} }

// documentMethods are those of MainThreadDocuments and of the language of a document.
func (s *Service) documentMethods() map[string]workbench.Method {
	return map[string]workbench.Method{
		"MainThreadDocuments.$tryCreateDocument": {Do: s.tryCreate},
		"MainThreadDocuments.$tryOpenDocument":   {Do: s.tryOpen},
		"MainThreadDocuments.$trySaveDocument":   {Do: s.trySave},
		"MainThreadLanguages.$changeLanguage":    {Do: s.changeLanguage},
	}
}

func (s *Service) tryOpen(ctx context.Context, c *workbench.Call) (any, error) {
	var uri workbench.URI
	var opt struct{ Encoding string }
	if err := c.Args(&uri, &opt); err != nil {
		return nil, err
	}
	if uri.Scheme == "" || uri.Path == "" && uri.Authority == "" {
		return nil, workbench.Invalid("invalid uri: scheme and authority or path must be set")
	}
	d, err := s.open(ctx, uri, opt.Encoding, c)
	if err != nil {
		return nil, err
	}
	return d.uri, nil
}

func (s *Service) tryCreate(_ context.Context, c *workbench.Call) (any, error) {
	var opt struct{ Language, Content, Encoding string }
	if err := c.Args(&opt); err != nil {
		return nil, err
	}
	if opt.Encoding == "" {
		opt.Encoding = utf8Name
	}
	if _, err := encode("", opt.Encoding); err != nil {
		return nil, err
	}
	if opt.Language != "" && s.opt.Languages != nil && !s.opt.Languages.Known(opt.Language) {
		opt.Language = plain // as VS Code does
	}
	if len(opt.Content) > maxSize {
		return nil, refused("cannot open an untitled document. Detail: %w", ErrTooLarge)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, refused("cannot open an untitled document. Detail: %w", ErrClosed)
	}
	if err := s.room(text.Weight(opt.Content), 1); err != nil {
		return nil, refused("cannot open an untitled document. Detail: %w", err)
	}
	uri := workbench.URI{Scheme: "untitled"}
	for n := 1; uri.Path == "" || s.documents[uri.String()] != nil; n++ {
		uri.Path = fmt.Sprintf("Untitled-%d", n)
	}
	from := source{text: text.New(opt.Content, text.LF), encoding: opt.Encoding, dirty: opt.Content != "", language: opt.Language}
	return s.add(uri, from).uri, nil
}

func (s *Service) changeLanguage(ctx context.Context, c *workbench.Call) (any, error) {
	var uri workbench.URI
	var language string
	if err := c.Args(&uri, &language); err != nil {
		return nil, err
	}
	if language == "" || s.opt.Languages != nil && !s.opt.Languages.Known(language) {
		return nil, workbench.Invalid("unknown language id: %s", language)
	}
	d, err := s.open(ctx, uri, "", c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLanguage(d, language)
	return nil, nil
}

// setLanguage gives a document another language. The caller must hold mu.
func (s *Service) setLanguage(d *document, language string) {
	if s.documents[d.key] == d && d.language != language {
		d.language = language
		s.tell(d, methodLanguage, d.uri, language)
		s.opened(language)
	}
}
