package peers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/documents"
	"github.com/hostsup/hostsup/workbench/language"
)

// Hovers is an Asker that asks an extension host for a hover, by document and position.
type Hovers struct {
	hostsupConn
	service *language.Service
	query   language.Query
	args    []any // of the bare call
	doc     *documents.Document
}

// NewHovers starts an extension host under a supervisor, with an extension that provides hovers for a
// document that is open.
func NewHovers(v VSCodeHost, folder string) (_ *Hovers, err error) {
	path := filepath.Join(folder, "measured.txt")
	if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(path, []byte(strings.Repeat("some words in a line\n", 200)), 0o644)); err != nil {
		return nil, err
	}
	const event = "onCommand:bench.hover"
	c, err := editorWith(v, folder, event, `const vscode = require('vscode');
exports.activate = (context) => context.subscriptions.push(vscode.languages.registerHoverProvider('*', {
  provideHover: (document, position) => new vscode.Hover(document.getText(document.getWordRangeAtPosition(position))),
}));
`)
	if err != nil {
		return nil, err
	}
	h := &Hovers{hostsupConn: c, query: language.Query{Feature: language.FeatureHover, URI: workbench.File(path), Position: language.Position{Line: 100, Character: 7}}}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	if h.service, err = workbench.Of[*language.Service](c.h.Ref()); err != nil {
		return nil, err
	}
	docs, err := workbench.Of[*documents.Service](c.h.Ref())
	if err != nil {
		return nil, err
	}
	if h.doc, err = docs.Open(context.Background(), h.query.URI); err != nil {
		return nil, err
	}
	return h, h.find()
}

// find finds the number of the provider, which its registration does not tell to others.
func (h *Hovers) find() error {
	const most = 1000
	for handle := range most {
		h.args = []any{handle, h.query.URI, map[string]int{"lineNumber": 101, "column": 8}, struct{}{}, map[string]bool{"$token": true}}
		if err := h.Bare().Ask(context.Background()); err == nil {
			return nil
		}
	}
	return fmt.Errorf("none of %d numbers is that of the provider", most)
}

// Ask asks by the document and the position.
func (h *Hovers) Ask(ctx context.Context) error {
	out, err := h.service.Ask(ctx, h.query)
	if list, ok := out.([]language.HoverText); err == nil && (!ok || len(list) != 1 || list[0].Contents[0] != "words") {
		err = fmt.Errorf("%T %v: the hover %q expected", out, out, "words")
	}
	return err
}

// Bare asks by calling the provider by its number. It is not to be closed.
func (h *Hovers) Bare() Asker { return bareHover{h} }

type bareHover struct{ *Hovers }

// Ask implements Asker.
func (h bareHover) Ask(ctx context.Context) error {
	var out struct {
		Contents []struct{ Value string }
		ID       json.RawMessage
	}
	if err := h.h.Call(ctx, "ExtHostLanguageFeatures.$provideHover", h.args, &out); err != nil {
		return err
	}
	if len(out.Contents) != 1 || out.Contents[0].Value != "words" {
		return fmt.Errorf("%v: the hover %q expected", out.Contents, "words")
	}
	// What an answer keeps in the host is given up, as the service does.
	return h.h.Notify(ctx, "ExtHostLanguageFeatures.$releaseHover", []any{h.args[0], out.ID})
}

// Close ends the host.
func (h *Hovers) Close() error {
	if h.doc != nil {
		h.doc.Close()
	}
	return h.hostsupConn.Close()
}
