package questions

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/workbench"
)

// item is an item of a message.
type item struct {
	Title             string
	Handle            int
	IsCloseAffordance bool
}

// source is the extension of a message.
type source struct {
	Label      string
	Identifier json.RawMessage // a text, or an object
}

// id returns the id of the extension, "" if it is not there.
func (o *source) id() (id string) {
	if o == nil || json.Unmarshal(o.Identifier, &id) == nil {
		return id
	}
	var whole struct{ Value string }
	_ = json.Unmarshal(o.Identifier, &whole) // without it the id is unknown
	return whole.Value
}

// message answers $showMessage: its severity, the text, options, and the items that the user may
// choose.
func (s *Service) message(ctx context.Context, c *workbench.Call) (any, error) {
	var severity int
	var text string
	var options struct {
		Source *source
		Detail string
	}
	var items []item
	if err := c.Args(&severity, &text, &options, &items); err != nil {
		return nil, err
	}
	from := "an extension"
	if options.Source != nil && options.Source.Label != "" {
		from = short(options.Source.Label)
	}
	kind := map[int]string{1: "information", 2: "warning", 3: "error"}[severity]
	if kind == "" {
		kind = "message"
	}
	texts := []string{text}
	if options.Detail != "" {
		text += ": " + options.Detail
		texts = append(texts, text)
	}
	if len(items) == 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.say(c.Host.Name(), "%s: %s: %s", from, kind, short(text))
		return workbench.Undefined, nil
	}
	labels, quoted := make([]string, len(items)), make([]string, len(items))
	for i, it := range items {
		labels[i], quoted[i] = it.Title, fmt.Sprintf("%q", short(it.Title))
	}
	q := &question{
		host: c.Host.Name(), extension: options.Source.id(), kind: Message, text: text, texts: texts, items: func() []string { return labels },
		what: fmt.Sprintf("%s asked with a message of kind %s: %s: %s", from, kind, short(text), short(strings.Join(quoted, ", "))),
		check: func(_ context.Context, values []string) (any, error) {
			i, err := chosen(labels, values[0])
			if err != nil {
				return nil, err
			}
			return items[i].Handle, nil
		},
	}
	if i := slices.IndexFunc(items, func(it item) bool { return it.IsCloseAffordance }); i >= 0 {
		q.nothing, q.dismissed = items[i].Handle, "answered with "+quoted[i]+", as if it was closed"
	}
	return s.resolve(ctx, q).answer(), nil
}

// icon matches an icon in a label, such as "$(git-branch) main" has, with the spaces after it.
var icon = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\([a-z0-9-]+(~[a-z]+)?\) *`) })

// chosen returns the index of the item with a label. The label may be without its icons if it is that of
// one item alone.
func chosen(labels []string, label string) (int, error) {
	if i := slices.Index(labels, label); i >= 0 {
		return i, nil
	}
	found := -1
	for i, l := range labels {
		if icon().ReplaceAllString(l, "") != label {
			continue
		}
		if found >= 0 {
			return 0, fmt.Errorf("%w: %q is several of the items; give one with its icon", ErrAnswer, short(label))
		}
		found = i
	}
	if found >= 0 {
		return found, nil
	}
	return 0, fmt.Errorf("%w: %q is not one of the items", ErrAnswer, short(label))
}

// asked is what options of a picker, an input box or a dialog say of the question.
type asked struct {
	Title, PlaceHolder, Prompt, OpenLabel, SaveLabel string

	Password      bool
	CanPickMany   bool
	CanSelectMany bool
}

func (a asked) texts() []string {
	return []string{a.Title, a.Prompt, a.PlaceHolder, a.OpenLabel, a.SaveLabel}
}

// text returns the first text, "" without one.
func (a asked) text() string {
	for _, text := range a.texts() {
		if text != "" {
			return text
		}
	}
	return ""
}

func (a asked) String() string {
	if text := a.text(); text != "" {
		return fmt.Sprintf("%q", short(text))
	}
	return "without a title"
}

// question returns the question about a thing such as "the list" of an extension, "" if that is not known.
func (a asked) question(host, extension, kind, what string) *question {
	return &question{
		host: host, extension: extension, kind: kind, what: fmt.Sprintf("%s %s of an extension", what, a), text: a.text(), texts: a.texts(),
		many: a.CanPickMany || a.CanSelectMany, password: a.Password,
	}
}

// openDialog answers $showOpenDialog.
func (s *Service) openDialog(ctx context.Context, c *workbench.Call, asker string) (any, error) {
	return s.dialog(ctx, c, asker, Open)
}

// saveDialog answers $showSaveDialog.
func (s *Service) saveDialog(ctx context.Context, c *workbench.Call, asker string) (any, error) {
	return s.dialog(ctx, c, asker, Save)
}

func (s *Service) dialog(ctx context.Context, c *workbench.Call, asker, kind string) (any, error) {
	var a asked
	if err := c.Args(&a); err != nil {
		return nil, err
	}
	q := a.question(c.Host.Name(), asker, kind, "the dialog to "+kind+" a file")
	q.check = func(_ context.Context, values []string) (any, error) {
		out := make([]workbench.URI, len(values))
		for i, path := range values {
			if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
				return nil, fmt.Errorf("%w: %q is not an absolute path", ErrAnswer, short(path))
			}
			out[i] = workbench.File(filepath.Clean(path))
		}
		if kind == Save {
			return out[0], nil
		}
		return out, nil
	}
	return s.resolve(ctx, q).answer(), nil
}

// input answers $input of window.showInputBox: its options, and whether the extension checks the
// text.
func (s *Service) input(ctx context.Context, c *workbench.Call, asker string) (any, error) {
	var a asked
	var checks bool
	if err := c.Args(&a, &checks); err != nil {
		return nil, err
	}
	q := a.question(c.Host.Name(), asker, Input, "the input box")
	q.check = func(ctx context.Context, values []string) (any, error) {
		if checks {
			if err := s.validate(ctx, q, values[0]); err != nil {
				return nil, err
			}
		}
		return values[0], nil
	}
	return s.resolve(ctx, q).answer(), nil
}

// severityError is the severity of an objection that forbids a text.
const severityError = 3

// validate asks the extension about a text that was typed.
func (s *Service) validate(ctx context.Context, q *question, text string) error {
	s.mu.Lock()
	h := s.hosts[q.host]
	s.mu.Unlock()
	if h == nil {
		return fmt.Errorf("%w: the host of the question has ended", ErrNoQuestion)
	}
	var raw json.RawMessage
	if err := h.Call(ctx, "ExtHostQuickOpen.$validateInput", workbench.Params(text), &raw); err != nil {
		return fmt.Errorf("%w: the extension could not check it: %w", ErrAnswer, err)
	}
	objection := struct {
		Content  string
		Severity int
	}{Severity: severityError}
	if workbench.Decode(raw, &objection.Content) != nil {
		if err := workbench.Decode(raw, &objection); err != nil {
			return fmt.Errorf("%w: the objection of the extension cannot be read: %w", ErrAnswer, err)
		}
	}
	switch {
	case objection.Content == "" || objection.Severity != severityError:
		return nil
	case q.password:
		return fmt.Errorf("%w: the extension does not accept it", ErrAnswer) // its text might contain it
	}
	return fmt.Errorf("%w: %s", ErrAnswer, short(objection.Content))
}
