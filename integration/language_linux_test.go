//go:build linux

package integration

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/manifest"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/supervisor"
	bench "github.com/hostsup/hostsup/workbench"
	lang "github.com/hostsup/hostsup/workbench/language"
)

// speakers is a host whose extensions provide all features for a language, in two locations, and a file
// in that language.
func speakers(t testing.TB, version string) (sup *supervisor.Supervisor, h *supervisor.Host, path string) {
	t.Helper()
	work := t.TempDir()
	path = written(t, work, "a.acme", "def one\none two\ndef two one\n")
	sup, h = alone(t, edited(t, version, "features", func(s *plan.Spec, o *vscode.Options) {
		s.Affinity = map[string]int{"acme.listener": 2}
		o.Workspace = &vscode.Workspace{Folders: []string{work}}
	}))
	return sup, h, path
}

// answered asks and compares the answer as JSON.
func answered(t testing.TB, s *lang.Service, want string, q lang.Query) {
	t.Helper()
	out, err := s.Ask(ctx(t), q)
	raw, _ := json.Marshal(out)
	if err != nil || string(raw) != want {
		t.Errorf("%s: %s, %v\nwant %s", q.Feature, raw, err, want)
	}
}

func TestLanguageFeaturesOfAllHosts(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		_, h, path := speakers(t, version)
		s := serviceOf[*lang.Service](t, h)
		at := lang.Position{Line: 1, Character: 1}
		file := "file://" + path
		rng := func(l1, c1, l2, c2 int) string {
			raw, _ := json.Marshal(lang.Range{Start: lang.Position{Line: l1, Character: c1}, End: lang.Position{Line: l2, Character: c2}})
			return string(raw)
		}
		one := func(l, c int) string { return `{"uri":"` + file + `","range":` + rng(l, c, l, c+3) + `}` }
		list := func(parts ...string) string { return "[" + strings.Join(parts, ",") + "]" }
		for _, c := range []struct {
			want string
			q    lang.Query
		}{
			{list(`{"contents":["speaker: one"],"range":`+rng(1, 0, 1, 3)+`}`, `{"contents":["listener: 1 1"],"range":`+rng(1, 0, 1, 3)+`}`), lang.Query{Feature: lang.FeatureHover}},
			{list(one(0, 4)), lang.Query{Feature: lang.FeatureDefinition}},
			{list(strings.TrimSuffix(one(0, 4), "}") + `,"targetSelectionRange":` + rng(0, 4, 0, 7) + "}"), lang.Query{Feature: lang.FeatureDeclaration}},
			{list(one(0, 4)), lang.Query{Feature: lang.FeatureTypeDefinition}},
			{list(`{"uri":"file:///listener.acme","range":` + rng(4, 5, 4, 5) + `}`), lang.Query{Feature: lang.FeatureImplementation}},
			{list(one(0, 4), one(1, 0), one(2, 8)), lang.Query{Feature: lang.FeatureReferences}},
			{list(`{"range":`+rng(0, 4, 0, 7)+`,"kind":2}`, `{"range":`+rng(1, 0, 1, 3)+`,"kind":2}`, `{"range":`+rng(2, 8, 2, 11)+`,"kind":2}`), lang.Query{Feature: lang.FeatureHighlights}},
			{`{"signatures":[{"label":"f(a, b)","documentation":"doc","parameters":[{"label":"a"},{"label":"b"}]}],"activeSignature":0,"activeParameter":1}`, lang.Query{Feature: lang.FeatureSignature}},
			{list(
				`{"name":"one","detail":"a word","kind":"variable","range":`+rng(0, 4, 0, 7)+`,"selectionRange":`+rng(0, 4, 0, 7)+`}`,
				`{"name":"two","detail":"a word","kind":"variable","range":`+rng(2, 4, 2, 7)+`,"selectionRange":`+rng(2, 4, 2, 7)+`}`), lang.Query{Feature: lang.FeatureSymbols}},
			{list(`{"name":"found x","containerName":"box","kind":"class","location":{"uri":"file:///f.acme","range":` + rng(1, 2, 1, 2) + `}}`), lang.Query{Feature: lang.FeatureWorkspaceSymbol, Text: "x"}},
			{list(`{"range":` + rng(0, 0, 0, 3) + `,"text":"DEF2TRUE"}`), lang.Query{Feature: lang.FeatureFormat, TabSize: 2}},
			{list(`{"range":` + rng(1, 1, 1, 1) + `,"text":"after ;"}`), lang.Query{Feature: lang.FeatureFormatOnType, Text: ";"}},
			{list(), lang.Query{Feature: lang.FeatureFormatOnType, Text: "x"}},
			{`{"edits":[` + `{"resource":"` + file + `","textEdit":{"range":` + rng(0, 4, 0, 7) + `,"text":"uno"}},` +
				`{"resource":"` + file + `","textEdit":{"range":` + rng(1, 0, 1, 3) + `,"text":"uno"}},` +
				`{"resource":"` + file + `","textEdit":{"range":` + rng(2, 8, 2, 11) + `,"text":"uno"}}]}`, lang.Query{Feature: lang.FeatureRename, Text: "uno"}},
			{`{"range":` + rng(1, 0, 1, 3) + `,"text":"one"}`, lang.Query{Feature: lang.FeaturePrepareRename}},
			{list(`{"start":0,"end":2}`, `{"start":1,"end":2,"kind":"region"}`), lang.Query{Feature: lang.FeatureFolding}},
			{list(list(rng(1, 0, 1, 3), rng(1, 0, 1, 7), rng(0, 0, 3, 0))), lang.Query{Feature: lang.FeatureSelections, Positions: []lang.Position{at}}},
			{list(
				`{"position":{"line":0,"character":0},"length":3,"type":"keyword"}`, `{"position":{"line":0,"character":4},"length":3,"type":"variable","modifiers":["declaration"]}`,
				`{"position":{"line":1,"character":0},"length":3,"type":"variable"}`, `{"position":{"line":1,"character":4},"length":3,"type":"variable"}`,
				`{"position":{"line":2,"character":0},"length":3,"type":"keyword"}`, `{"position":{"line":2,"character":4},"length":3,"type":"variable","modifiers":["declaration"]}`,
				`{"position":{"line":2,"character":8},"length":3,"type":"variable"}`), lang.Query{Feature: lang.FeatureTokens}},
			{list(`{"range":` + rng(0, 0, 0, 3) + `,"color":[1,0,0.5,1]}`), lang.Query{Feature: lang.FeatureColors}},
			{`{"ranges":` + list(rng(0, 4, 0, 7), rng(1, 0, 1, 3), rng(2, 8, 2, 11)) + `,"wordPattern":"[a-z]+"}`, lang.Query{Feature: lang.FeatureLinked}},
			{list(`{"label":"rgb 1 0.5 0"}`), lang.Query{Feature: lang.FeaturePresentations, Color: [4]float64{1, 0.5, 0, 1}}},
		} {
			c.q.URI, c.q.Position = bench.File(path), at
			answered(t, s, c.want, c.q)
		}

		_, err := s.Ask(ctx(t), lang.Query{Feature: lang.FeatureRename, URI: bench.File(path), Text: "x"})
		if !errors.Is(err, lang.ErrRejected) || !strings.Contains(err.Error(), "a keyword stays") {
			t.Errorf("%v", err)
		}
		// Edits of formatters are those of what differs, for extensions too.
		tidy := written(t, t.TempDir(), "tidy.acme", "tidy  me\nplease\nand  me\n")
		answered(t, s, list(`{"range":`+rng(0, 5, 0, 6)+`,"text":""}`, `{"range":`+rng(2, 3, 2, 4)+`,"text":""}`), lang.Query{Feature: lang.FeatureFormat, URI: bench.File(tidy)})
		plain := written(t, t.TempDir(), "plain.txt", "a")
		if _, err := s.Ask(ctx(t), lang.Query{Feature: lang.FeatureReferences, URI: bench.File(plain)}); !errors.Is(err, lang.ErrNoProvider) {
			t.Errorf("%v", err)
		}
		if _, err := s.Ask(ctx(t), lang.Query{Feature: "dance", URI: bench.File(plain)}); err == nil {
			t.Error("an unknown feature was asked for")
		}
		resolves(t, s, path)
	})
}

// resolves asks for items that have more parts, and for these.
func resolves(t *testing.T, s *lang.Service, path string) {
	t.Helper()
	q := lang.Query{URI: bench.File(path), Position: lang.Position{Line: 1, Character: 3}}
	q.Feature = lang.FeatureCompletion
	all, err := lang.Get[*lang.CompletionList](ctx(t), s, q)
	if err != nil || len(all.Items) != 3 || all.Items[0].Label.Label != "zebra" && all.Items[0].Label.Label != "alpha" {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, item := range all.Items {
		if err := s.Resolve(ctx(t), q.Feature, item.Ref, &item); err != nil || item.Detail != "resolved" || item.Documentation != "**doc**" {
			t.Errorf("%+v, %v", item, err)
		}
		if item.Label.Label == "alpha" && (item.InsertText != "alpha($1)" || item.Rules != 4 || item.Label.Detail != "()" || len(item.Commit) != 2 || item.Range.Replace.Start.Character != 0) {
			t.Errorf("%+v", item)
		}
	}
	q.Feature, q.Kind = lang.FeatureActions, "refactor"
	actions, err := lang.Get[[]lang.Action](ctx(t), s, q)
	if err != nil || len(actions) != 1 || actions[0].Title != "extract it" || actions[0].Edit != nil {
		t.Errorf("%+v, %v", actions, err)
	}
	q.Kind, q.Resolve = "", 2
	actions, err = lang.Get[[]lang.Action](ctx(t), s, q)
	if err != nil || len(actions) != 2 || actions[0].Title != "fix it" || actions[1].Edit == nil || actions[1].Edit.Edits[0].TextEdit.Text != "extract it" {
		t.Errorf("%+v, %v", actions, err)
	}
	q.Feature = lang.FeatureLenses
	lenses, err := lang.Get[[]lang.Lens](ctx(t), s, q)
	if err != nil || len(lenses) != 2 || lenses[1].Command == nil || lenses[1].Command.Title != "resolved" {
		t.Errorf("%+v, %v", lenses, err)
	}
	q.Feature = lang.FeatureHints
	hints, err := lang.Get[[]lang.Hint](ctx(t), s, q)
	if err != nil || len(hints) != 2 || hints[0].Label != "from 0 to 3" || hints[1].Label != "bc" || hints[1].Tooltip != "why" {
		t.Errorf("%+v, %v", hints, err)
	}
	q.Feature = lang.FeatureLinks
	links, err := lang.Get[[]lang.Link](ctx(t), s, q)
	if err != nil || len(links) != 1 || links[0].Target != "https://b.example/" {
		t.Errorf("%+v, %v", links, err)
	}
	q.Feature = lang.FeatureInline
	inline, err := lang.Get[[]lang.InlineCompletion](ctx(t), s, q)
	if err != nil || len(inline) != 2 || inline[0].Text != "inline 0 undefined" || inline[0].Range == nil || inline[0].Command == nil || inline[1].Text != "snip($1)" || !inline[1].Snippet {
		t.Errorf("%+v, %v", inline, err)
	}
	q.Feature = lang.FeatureCallHierarchy
	roots, err := lang.Get[[]lang.HierarchyItem](ctx(t), s, q)
	if err != nil || len(roots) != 1 || roots[0].Name != "one" {
		t.Fatalf("%+v, %v", roots, err)
	}
	calls, err := s.Related(ctx(t), roots[0], lang.Incoming)
	if err != nil || len(calls) != 1 || calls[0].Name != "caller of one" || len(calls[0].CallsFrom) != 1 {
		t.Fatalf("%+v, %v", calls, err)
	}
	if calls, err = s.Related(ctx(t), calls[0], lang.Outgoing); err != nil || len(calls) != 1 || calls[0].Name != "called by caller of one" {
		t.Errorf("%+v, %v", calls, err)
	}
	q.Feature = lang.FeatureTypeHierarchy
	if roots, err = lang.Get[[]lang.HierarchyItem](ctx(t), s, q); err != nil || len(roots) != 1 {
		t.Fatalf("%+v, %v", roots, err)
	}
	if types, err := s.Related(ctx(t), roots[0], lang.Supertypes); err != nil || len(types) != 1 || types[0].Name != "super one" {
		t.Errorf("%+v, %v", types, err)
	}
}

// Extensions ask for features by the commands of the editor, also those of another host.
func TestLanguageCommandsOfExtensions(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		_, h, path := speakers(t, version)
		// A search of symbols asks those who are registered and starts no host, as in VS Code: the document does.
		if got := resultOf[string](t, h, "listener.execute", path, `(await vscode.workspace.openTextDocument(uri)).languageId`); got != "acme" {
			t.Fatalf("language %q", got)
		}
		for expression, want := range map[string]string{
			`(await run('executeHoverProvider', uri, at(1, 1))).map(h => h.contents.map(c => c.value).join()).join(' / ')`:                            `speaker: one / listener: 1 1`,
			`(await run('executeDefinitionProvider', uri, at(1, 1))).map(l => l.range.start.character).join()`:                                        `4`,
			`(await run('experimental.executeDefinitionProvider_recursive', uri, at(1, 1))).length + ''`:                                              `1`,
			`(await run('executeDeclarationProvider', uri, at(1, 1))).map(l => l.targetRange.start.character).join()`:                                 `4`,
			`(await run('executeTypeDefinitionProvider', uri, at(1, 1))).length + ''`:                                                                 `1`,
			`(await run('executeImplementationProvider', uri, at(1, 1)))[0].uri.path`:                                                                 `/listener.acme`,
			`(await run('executeReferenceProvider', uri, at(1, 1))).length + ''`:                                                                      `3`,
			`(await run('executeDocumentHighlights', uri, at(1, 1))).length + ''`:                                                                     `3`,
			`(await run('executeDocumentSymbolProvider', uri)).map(s => s.name + s.kind).join()`:                                                      `one12,two12`,
			`(await run('executeWorkspaceSymbolProvider', 'q')).map(s => s.name).join()`:                                                              `found q`,
			`(await run('executeFormatDocumentProvider', uri, { tabSize: 3, insertSpaces: false }))[0].newText`:                                       `DEF3FALSE`,
			`(await run('executeFormatOnTypeProvider', uri, at(1, 1), ';', { tabSize: 3, insertSpaces: false }))[0].newText`:                          `after ;`,
			`(await run('executeDocumentRenameProvider', uri, at(1, 1), 'uno')).get(uri).length + ''`:                                                 `3`,
			`await run('executeDocumentRenameProvider', uri, at(0, 1), 'uno').then(() => 'done', e => e.message)`:                                     `rename rejected: a keyword stays`,
			`(await run('prepareRename', uri, at(1, 1))).placeholder`:                                                                                 `one`,
			`(await run('executeFoldingRangeProvider', uri)).map(r => r.start + '-' + r.end + r.kind).join()`:                                         `0-2undefined,1-2` + `3`,
			`(await run('executeSelectionRangeProvider', uri, [at(1, 1)]))[0].parent.range.end.character + ''`:                                        `7`,
			`(await run('provideDocumentSemanticTokensLegend', uri)).tokenTypes.join()`:                                                               `keyword,variable`,
			`(await run('provideDocumentSemanticTokens', uri)).data.length + ''`:                                                                      `35`,
			`(await run('executeInlayHintProvider', uri, new vscode.Range(0, 0, 2, 2))).length + ''`:                                                  `2`,
			`(await run('executeLinkProvider', uri, 5))[0].target.toString()`:                                                                         `https://b.example/`,
			`(await run('executeDocumentColorProvider', uri))[0].color.blue + ''`:                                                                     `0.5`,
			`(await run('executeColorPresentationProvider', new vscode.Color(0, 1, 0, 1), { uri, range: new vscode.Range(0, 0, 0, 3) }))[0].label`:    `rgb 0 1 0`,
			`(await run('executeSignatureHelpProvider', uri, at(1, 1), '(')).signatures[0].label`:                                                     `f(a, b)`,
			`(await run('executeCompletionItemProvider', uri, at(1, 3), '.', 3)).items.map(i => (i.label.label ?? i.label) + i.detail).sort().join()`: `alpharesolved,typed .resolved,zebraresolved`,
			`(await run('executeCodeLensProvider', uri, 1)).map(l => l.command.title).join()`:                                                         `resolved`,
			`(await run('executeCodeLensProvider', uri)).length + ''`:                                                                                 `2`,
			`(await run('executeCodeActionProvider', uri, new vscode.Range(1, 0, 1, 3), undefined, 9)).map(a => a.title + !!a.edit).join()`:           `fix ittrue,extract ittrue`,
			// The arguments of the command stay in the other host, which gets them back.
			`(async () => {
				const [a] = await run('executeCodeActionProvider', uri, new vscode.Range(1, 0, 1, 3), 'quickfix')
				await vscode.commands.executeCommand(a.command.command, ...a.command.arguments)
				return /Set$/.test(await vscode.commands.executeCommand('speaker.said')) + ''
			})()`: `true`,
			`(async () => {
				const [i] = await run('prepareCallHierarchy', uri, at(1, 1))
				const [c] = await run('provideIncomingCalls', i)
				return c.from.name
			})()`: `caller of one`,
			`(async () => {
				const [i] = await run('prepareTypeHierarchy', uri, at(1, 1))
				const [c] = await run('provideSubtypes', i)
				return c.name
			})()`: `sub one`,
			`(await run('executeReferenceProvider', vscode.Uri.parse('untitled:a'), at(0, 0))).length + ''`:                                              `0`,
			`await run('executeReferenceProvider', vscode.Uri.file('/none.acme'), at(0, 0)).then(() => 'done', e => /cannot open/.test(e.message) + '')`: `true`,
		} {
			if got := resultOf[string](t, h, "listener.execute", path, expression); got != want {
				t.Errorf("%s: %q, want %q", expression, got, want)
			}
		}
	})
}

// The supervisor is asked by the name of a host, or without one.
func TestLanguageBySupervisor(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h, path := speakers(t, version)
		bad := written(t, t.TempDir(), "bad.acme", "def\n  bad\n")
		ask := func(host, feature, path, more string) string {
			raw, err := json.Marshal(bench.File(path))
			if err != nil {
				t.Fatal(err)
			}
			out, err := sup.AskLanguage(ctx(t), host, json.RawMessage(`{"feature":"`+feature+`","uri":`+string(raw)+more+`}`))
			if err != nil {
				return err.Error()
			}
			return string(out)
		}
		const problem = `[{"range":{"start":{"line":1,"character":2},"end":{"line":1,"character":5}},"severity":4,"message":"a bad word","source":"speaker","code":"7","host":"vs"}]`
		if got := ask("", "diagnostics", bad, ""); got != problem {
			t.Errorf("%s", got)
		}
		if got := ask("vs", "diagnostics", path, `,"waitSeconds":0.01`); got != "[]" {
			t.Errorf("%s", got)
		}
		if got := ask("vs-2", "prepare-rename", path, `,"position":{"line":1,"character":1}`); !strings.Contains(got, `"text":"one"`) {
			t.Errorf("%s", got)
		}
		// A word without a hover of its own: what one provider fails with does not hide the other one's answer.
		if got := ask("", "hover", bad, `,"position":{"line":1,"character":3}`); !strings.Contains(got, "listener: 1 3") {
			t.Errorf("%s", got)
		}
		if _, err := sup.AskLanguage(ctx(t), "nobody", json.RawMessage(`{}`)); !errors.Is(err, supervisor.ErrNoHost) {
			t.Errorf("%v", err)
		}
		if _, err := sup.AskLanguage(ctx(t), "", json.RawMessage(`7`)); err == nil {
			t.Error("a query without a feature was taken")
		}
		plain := written(t, t.TempDir(), "plain.txt", "a")
		raw, _ := json.Marshal(map[string]any{"feature": "references", "uri": bench.File(plain)})
		if _, err := sup.AskLanguage(ctx(t), "", raw); !errors.Is(err, extensions.ErrNoProvider) {
			t.Errorf("%v", err)
		}
		if life := h.Status().Life; life != 1 {
			t.Errorf("life %d", life)
		}
	})
}

// A question whose host dies in the middle is asked again once.
func TestLanguageQuestionOfAHostThatDies(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		_, h, _ := speakers(t, version)
		path := written(t, t.TempDir(), "die.acme", "die\n")
		s := serviceOf[*lang.Service](t, h)
		hover := func(deaths string) ([]lang.HoverText, error) {
			if err := os.WriteFile(path+".deaths", []byte(deaths), 0o600); err != nil {
				t.Fatal(err)
			}
			return lang.Get[[]lang.HoverText](ctx(t), s, lang.Query{Feature: lang.FeatureHover, URI: bench.File(path)})
		}
		for _, deaths := range []string{"0", "1", "0"} {
			if out, err := hover(deaths); err != nil || len(out) != 2 || out[0].Contents[0] != "speaker: die" && out[1].Contents[0] != "speaker: die" {
				t.Errorf("%s: %+v, %v", deaths, out, err)
			}
		}
		var ended *actors.HostError
		if out, err := hover("2"); !errors.As(err, &ended) || !errors.Is(err, actors.ErrCrashed) {
			t.Errorf("%+v, %v", out, err)
		}
		if life := h.Status().Life; life < 3 {
			t.Errorf("life %d", life)
		}
	})
}

// The providers of an extension that has moved to another host are those there.
func TestLanguageProvidersMove(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h, path := speakers(t, version)
		s := serviceOf[*lang.Service](t, h)
		q := lang.Query{Feature: lang.FeatureReferences, URI: bench.File(path), Position: lang.Position{Character: 5}}
		ask := func() int {
			out, err := lang.Get[[]lang.Location](ctx(t), s, q)
			if err != nil {
				t.Log(err)
			}
			return len(out)
		}
		if n := ask(); n != 3 {
			t.Fatal(n)
		}
		if err := sup.SetExtension(ctx(t), h.Name(), "acme.speaker", extensions.Isolate); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool { return ask() == 3 }, "the providers in the new host")
	})
}

// Extensions that ship with VS Code answer by document and position.
func TestLanguageFeaturesOfBuiltInExtensions(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		work := t.TempDir()
		spec := &plan.Spec{}
		for _, name := range []string{"json-language-features", "css-language-features", "typescript-language-features", "json", "css", "typescript-basics"} {
			spec.Folders = append(spec.Folders, manifest.Root{Dir: filepath.Join(releases[version].root, "extensions", name)})
		}
		_, h := alone(t, vscodeHost(t, version, func(s *supervisor.HostSpec) {
			root, _ := vscode.Root(s.Command)
			s.Protocol = vscode.New(vscode.Options{
				Root: root, State: filepath.Join(t.TempDir(), "state"), Workspace: &vscode.Workspace{Folders: []string{work}},
				Settings: map[string]any{"typescript.tsdk": published(t, "typescript") + "/lib"},
			})
			s.Extensions = spec
		}))
		s := serviceOf[*lang.Service](t, h)
		for _, c := range []struct {
			feature         lang.Feature
			name, text      string
			line, character int
			want            string
		}{
			{lang.FeatureDefinition, "a.ts", "const answer = 42\nanswer\n", 1, 2, `"targetSelectionRange":{"start":{"line":0,"character":6}`},
			{lang.FeatureHover, "b.ts", "const answer = 42\nanswer\n", 1, 2, `const answer: 42`},
			{lang.FeatureRename, "c.ts", "const answer = 42\nanswer\n", 1, 2, `"text":"question"`},
			{lang.FeatureSymbols, "d.json", `{"a": {"b": 1}}`, 0, 0, `"name":"b"`},
			{lang.FeatureFormat, "e.json", `{"a":1}`, 0, 0, `"text":"\n    "`},
			{lang.FeatureCompletion, "f.css", "a { colo }", 0, 8, `"label":"color"`},
			{lang.FeatureColors, "g.css", "a { color: #f00 }", 0, 0, `"color":[1,0,0,1]`},
		} {
			path := written(t, work, c.name, c.text)
			q := lang.Query{Feature: c.feature, URI: bench.File(path), Position: lang.Position{Line: c.line, Character: c.character}, Text: "question"}
			if c.feature == lang.FeatureCompletion {
				q.Text = ""
			}
			var raw []byte
			var err error
			eventually(t, func() bool { // their servers start meanwhile
				var out any
				if out, err = s.Ask(ctx(t), q); err != nil {
					return false
				}
				raw, _ = json.Marshal(out)
				return strings.Contains(string(raw), c.want)
			}, c.feature, c.name)
		}
	})
}
