package hosted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
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
	if q.Feature == language.FeatureDiagnostics {
		return problems(ctx, w, q)
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

// problems opens a document in a tab and waits until extensions have reported something about it, and
// nothing more for a while, or the time is over. If an extension could not be activated, no problems are an error.
func problems(ctx context.Context, w *workbench.Workbench, q languageQuery) ([]problem, error) {
	const usual = 5 * time.Second
	wait := usual
	if q.Wait > 0 {
		wait = time.Duration(q.Wait * float64(time.Second))
	}
	all := workbench.Find[*diagnostics.Service](w)
	changed := make(chan struct{}, 1)
	defer all.Subscribe(func([]workbench.URI) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})()
	// The symbols are not needed: asking for them starts the host and the extensions of the language.
	q.Feature = language.FeatureSymbols
	_, err := workbench.Find[*language.Service](w).Ask(ctx, q.Query)
	var failed *language.ProviderError
	var inactive *service.ActivationError
	errors.As(err, &inactive)
	if err != nil && !errors.Is(err, language.ErrNoProvider) && !errors.As(err, &failed) {
		return nil, err
	}
	open, err := workbench.Find[*documents.Service](w).Open(ctx, q.URI)
	if err != nil {
		return nil, err
	}
	defer open.Close()
	if err := open.Pin(); err != nil { // some report the problems of visible documents only
		return nil, err
	}
	end := time.NewTimer(wait)
	defer end.Stop()
	var calm <-chan time.Time // passes some time after the last report
	for {
		found := all.Diagnostics(q.URI)
		if len(found) > 0 && calm == nil {
			calm = time.After(quiet)
		}
		select {
		case <-changed:
			calm = nil
			continue
		case <-calm:
		case <-end.C:
			if inactive != nil && len(found) == 0 {
				return nil, inactive // what would report problems is not there
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return problemsOf(all.Diagnostics(q.URI)), nil
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
