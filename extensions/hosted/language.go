package hosted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/diagnostics"
	"github.com/hostsup/hostsup/workbench/documents"
	"github.com/hostsup/hostsup/workbench/language"
	"github.com/hostsup/hostsup/workbench/language/builtin"
	"github.com/hostsup/hostsup/workbench/languages"
)

// languageQuery is what [services.AskLanguage] reads.
type languageQuery struct {
	language.Query
	Wait float64 `json:"waitSeconds"`
}

// problem is a diagnostic as the result of a question.
type problem struct {
	Range    language.Range       `json:"range"`
	Severity diagnostics.Severity `json:"severity"` // 1: hint, 2: information, 4: warning, 8: error
	Message  string               `json:"message"`
	Source   string               `json:"source,omitempty"`
	Code     string               `json:"code,omitempty"`
	Tags     []int                `json:"tags,omitempty"`
	Host     string               `json:"host"`
}

// AskLanguage implements [supervisor.Extensions].
func (s *services) AskLanguage(ctx context.Context, host string, query json.RawMessage) (json.RawMessage, error) {
	var q languageQuery
	if err := json.Unmarshal(query, &q); err != nil {
		return nil, workbench.Invalid("a query about a document expected: %v", err)
	}
	benches, err := s.benches(host)
	if err != nil {
		return nil, err
	}
	own := q.Provided
	q.Provided = own || len(benches) > 1 // what the editor itself knows does not hide what extensions of another host know
	for _, w := range benches {
		var out any
		if out, err = askBench(ctx, w, q); err == nil {
			return json.Marshal(out)
		}
		if !errors.Is(err, language.ErrNoProvider) {
			return nil, err
		}
		err = fmt.Errorf("%w: %w", extensions.ErrNoProvider, err)
	}
	if q.Provided && !own {
		q.Provided = false
		if out, builtin := askBench(ctx, benches[0], q); builtin == nil {
			return json.Marshal(out)
		}
	}
	return nil, err
}

// known returns what is known of the language of a document. What cannot be read is left out.
func known(langs *languages.Service, docs *documents.Service) func(string, workbench.URI) builtin.Language {
	return func(id string, uri workbench.URI) builtin.Language {
		c, _ := langs.Configuration(id)
		return builtin.Language{
			Words: c.Words, Brackets: c.Brackets, OffSide: c.OffSide, FoldStart: c.FoldStart, FoldEnd: c.FoldEnd, TabSize: docs.TabSize(uri),
		}
	}
}

// askBench asks the extensions of one workbench.
func askBench(ctx context.Context, w *workbench.Workbench, q languageQuery) (any, error) {
	switch q.Feature {
	case language.FeatureDiagnostics:
		return problems(ctx, w, q)
	case language.FeatureActions:
		return actions(ctx, w, q.Query)
	}
	return workbench.Find[*language.Service](w).Ask(ctx, q.Query)
}

// benches returns the workbench of a host, or all of them in the order of their names.
func (s *services) benches(host string) (out []*workbench.Workbench, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.editors)) {
		if e := s.editors[name]; host == "" || e.hosts[host] != nil {
			out = append(out, e.bench)
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case host == "":
		return nil, fmt.Errorf("%w: no host speaks the protocol of VS Code", extensions.ErrNoProvider)
	}
	if _, err := s.tree.Supervisor.Host(host); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%w: %q", extensions.ErrNoExtensions, host)
}

// quiet is how long extensions must have reported nothing more: TypeScript, for one, reports what it finds
// in three parts.
const quiet = 250 * time.Millisecond

// problems opens a document and waits until extensions have reported something about it, and nothing more for
// a while, or the time is over. If an extension could not be activated, no problems are an error.
func problems(ctx context.Context, w *workbench.Workbench, q languageQuery) ([]problem, error) {
	const usual = 5 * time.Second
	wait := usual
	if q.Wait > 0 {
		wait = time.Duration(q.Wait * float64(time.Second))
	}
	doc, err := observe(ctx, w, q.Query)
	if err != nil {
		return nil, err
	}
	defer doc.done()
	if err := doc.settle(ctx, wait, func() bool { return len(doc.problems()) > 0 }); err != nil {
		return nil, err
	}
	found := doc.problems()
	if doc.inactive != nil && len(found) == 0 {
		return nil, doc.inactive // what would report problems is not there
	}
	return problemsOf(found), nil
}

// actions returns the code actions for a question of the program itself. Fixes are those of problems, which
// extensions report some time after a document has been opened: for a document that is not open, their
// reports are awaited.
func actions(ctx context.Context, w *workbench.Workbench, q language.Query) (any, error) {
	const wait = 2 * time.Second
	ask := workbench.Find[*language.Service](w).Ask
	if kind, _, _ := strings.Cut(q.Kind, "."); kind != "" && kind != "quickfix" || workbench.Find[*documents.Service](w).IsOpen(q.URI) {
		return ask(ctx, q)
	}
	doc, err := observe(ctx, w, q)
	if err != nil {
		return nil, err
	}
	defer doc.done()
	if err := doc.settle(ctx, wait, doc.isReported); err != nil {
		return nil, err
	}
	return ask(ctx, q)
}

// observed is a document in a tab, with what extensions report about it.
type observed struct {
	uri      workbench.URI
	all      *diagnostics.Service
	inactive *service.ActivationError // of an extension that could have reported something; nil if all are active
	changed  chan struct{}            // with room for one
	reported atomic.Bool
	done     func()
}

// observe opens the document of a question in a tab until done is called.
func observe(ctx context.Context, w *workbench.Workbench, q language.Query) (*observed, error) {
	o := &observed{uri: q.URI, all: workbench.Find[*diagnostics.Service](w), changed: make(chan struct{}, 1)}
	stop := o.all.Subscribe(func(files []workbench.URI) {
		if slices.ContainsFunc(files, func(f workbench.URI) bool { return f.String() == o.uri.String() }) {
			o.reported.Store(true)
		}
		select {
		case o.changed <- struct{}{}:
		default:
		}
	})
	o.done = stop
	// The symbols are not needed: asking for them starts the host and the extensions of the language.
	q.Feature = language.FeatureSymbols
	_, err := workbench.Find[*language.Service](w).Ask(ctx, q)
	var failed *language.ProviderError
	errors.As(err, &o.inactive)
	if err != nil && !errors.Is(err, language.ErrNoProvider) && !errors.As(err, &failed) {
		stop()
		return nil, err
	}
	open, err := workbench.Find[*documents.Service](w).Open(ctx, q.URI)
	if err != nil {
		stop()
		return nil, err
	}
	o.done = func() { open.Close(); stop() }
	if err := open.Pin(); err != nil { // some report the problems of visible documents only
		o.done()
		return nil, err
	}
	return o, nil
}

// problems returns what is reported now.
func (o *observed) problems() []diagnostics.Diagnostic { return o.all.Diagnostics(o.uri) }

// isReported reports whether something has been reported, even that there are no problems.
func (o *observed) isReported() bool { return o.reported.Load() }

// settle waits until there is enough, and nothing more is reported for a while, or the time is over.
func (o *observed) settle(ctx context.Context, wait time.Duration, isEnough func() bool) error {
	end := time.NewTimer(wait)
	defer end.Stop()
	var calm <-chan time.Time // passes some time after the last report
	for {
		if calm == nil && isEnough() {
			calm = time.After(quiet)
		}
		select {
		case <-o.changed:
			calm = nil
		case <-calm:
			return nil
		case <-end.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func problemsOf(found []diagnostics.Diagnostic) []problem {
	out := []problem{}
	for _, d := range found {
		at := language.Range{
			Start: language.Position{Line: d.StartLine - 1, Character: d.StartColumn - 1},
			End:   language.Position{Line: d.EndLine - 1, Character: d.EndColumn - 1},
		}
		out = append(out, problem{at, d.Severity, d.Message, d.Source, d.Code, d.Tags, d.Host})
	}
	return out
}
