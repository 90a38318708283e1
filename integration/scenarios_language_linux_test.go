//go:build linux

package integration

import lang "github.com/hostsup/hostsup/workbench/language"

// languageScenarios are those of the language servers that ship with VS Code.
var languageScenarios = []scenario{
	{
		ID: "vscode.json-language-features", Extensions: []string{"json", "json-language-features"},
		Settings: map[string]any{"json.schemas": []any{map[string]any{"fileMatch": []string{"app.json"}, "schema": map[string]any{
			"properties": map[string]any{"port": map[string]any{"type": "number", "description": "where it listens"}, "mode": map[string]any{"enum": []string{"fast", "safe"}}},
		}}}},
		Files: map[string]string{
			"app.json":  "{\"port\": 1,\n\"mode\": \"fast\",\n\"\"\n}\n",
			"data.json": "{\"a\": {\"b\": [1,\n2]},\n\"color\": \"#f00\", \"a\": 1}\n",
		},
		Steps: []scenarioStep{
			{Feature: lang.FeatureSymbols, At: "data.json", Want: []string{"data.json:1:2 module a", "array b", "string color"}},
			{Feature: lang.FeatureHover, At: "app.json:1:3", Want: []string{"where it listens"}},
			{Feature: lang.FeatureCompletion, At: "app.json:2:10", Want: []string{`"fast"`, `"safe"`}},
			{Feature: lang.FeatureFormat, At: "data.json", Want: []string{`data.json:`, `\n    `}},
			{Feature: lang.FeatureDiagnostics, At: "data.json", Want: []string{"data.json:3:18: warning: Duplicate object key"}},
			{Feature: lang.FeatureFolding, At: "data.json", Want: []string{`{"start":0,"end":1}`}, Wants: map[string][]string{doorLSP: {`{"endLine":1,"startLine":0}`}}},
			{Feature: lang.FeatureSelections, At: "data.json:1:14", Want: []string{`"line":0`}},
		},
	},
	{
		ID: "vscode.css-language-features", Extensions: []string{"css", "scss", "less", "css-language-features"},
		Files: map[string]string{
			"a.css":  ":root { --main: #ff0000; }\np { color: var(--main); }\n.box { color: #00f; colr: 1 }\n.box:hover { margin: 0 }\n",
			"b.css":  "p { disp }\n",
			"a.scss": "$gap: 2px;\n@mixin wide($w) { width: $w; }\n.a { .b { margin: $gap; @include wide(3px); } }\n",
			"a.less": "@gap: 2px;\n.m() { margin: @gap; }\n.a { .m(); }\n",
		},
		Steps: []scenarioStep{
			{Feature: lang.FeatureSymbols, At: "a.css", Want: []string{"a.css:1:1 class :root", "class p", "class .box"}},
			{Feature: lang.FeatureHover, At: "a.css:2:6", Want: []string{"Sets the color of an element's text"}},
			{Feature: lang.FeatureCompletion, At: "b.css:1:9", Want: []string{"display property"}},
			{Feature: lang.FeatureDefinition, At: "a.css:2:18", Want: []string{"a.css:1:9"}},
			{Feature: lang.FeatureReferences, At: "a.css:1:11", Want: []string{"a.css:1:9", "a.css:2:16"}},
			{Feature: lang.FeatureRename, At: "a.css:1:11", Text: "--own", Want: []string{`a.css:1:9-1:15 "--own"`, `a.css:2:16-2:22 "--own"`}},
			{Feature: lang.FeatureColors, At: "a.css", Want: []string{"[1,0,0,1]", "[0,0,1,1]"}},
			{Feature: lang.FeatureFormat, At: "a.css", Want: []string{`a.css:1:25-1:26 "\n"`}},
			{Feature: lang.FeatureDiagnostics, At: "a.css", Want: []string{"a.css:3:21: warning: Unknown property: 'colr'"}},
			{Feature: lang.FeatureHighlights, At: "a.css:3:2", Want: []string{`"line":2`}},
			{Feature: lang.FeatureDefinition, At: "a.scss:3:19", Want: []string{"a.scss:1:1"}},
			{Feature: lang.FeatureSymbols, At: "a.scss", Want: []string{"variable $gap", "method wide", "class .a"}},
			{Feature: lang.FeatureReferences, At: "a.less:1:3", Want: []string{"a.less:1:1", "a.less:2:16"}},
		},
	},
	{
		ID: "vscode.html-language-features", Extensions: []string{"html", "css-language-features", "html-language-features"},
		Files: map[string]string{
			"page.html":  "<!DOCTYPE html>\n<html>\n<head>\n<title>a</title>\n<style>p { color: red; colr: 1 }</style>\n<script>\nfunction hello(name) { return name.length }\nhello('x')\n</script>\n</head>\n<body>\n<div id=\"main\"><p class=\"one\">text</p></div>\n<a href=\"other.html\">link</a>\n<di\n</body>\n</html>\n",
			"other.html": "<div><p>a</p></div>\n",
		},
		Steps: []scenarioStep{
			{Feature: lang.FeatureHover, At: "page.html:12:3", Want: []string{"The div element has no special meaning at all"}},
			{Feature: lang.FeatureHover, At: "page.html:5:13", Want: []string{"color"}},
			{Feature: lang.FeatureHover, At: "page.html:8:3", Want: []string{"function hello"}},
			{Feature: lang.FeatureCompletion, At: "page.html:14:4", Want: []string{"div property"}},
			{Feature: lang.FeatureSymbols, At: "page.html", Want: []string{"page.html:2:1 field html", "function hello", "page.html:12:1     field div#main", "field p.one"}},
			{Feature: lang.FeatureFormat, At: "other.html", Want: []string{`other.html:1:6-1:6 "\n    "`, `other.html:1:14-1:14 "\n"`}},
			{Feature: lang.FeatureHighlights, At: "page.html:12:3", Want: []string{`"line":11`}},
			{Feature: lang.FeatureLinks, At: "page.html", Want: []string{"$FILE/other.html"}},
			{Feature: lang.FeatureRename, At: "page.html:12:3", Text: "section", Want: []string{`page.html:12:2-12:5 "section"`, `page.html:12:41-12:44 "section"`}},
			{Feature: lang.FeatureFolding, At: "page.html", Want: []string{`{"start":2,"end":8}`}, Wants: map[string][]string{doorLSP: {`{"endLine":8,"startLine":2}`}}},
			{Feature: lang.FeatureColors, At: "page.html", Want: []string{"[1,0,0,1]"}},
			{Feature: lang.FeatureDefinition, At: "page.html:8:3", Want: []string{"page.html:7:10"}},
			{Feature: lang.FeatureSignature, At: "page.html:8:7", Want: []string{"hello(name: any)"}},
			{Feature: lang.FeatureDiagnostics, At: "page.html", Want: []string{"page.html:5:24: warning: Unknown property"}},
			{Feature: lang.FeatureSelections, At: "page.html:12:20", Want: []string{`"line":11,"character":18`}},
			{Feature: lang.FeatureTokens, At: "page.html", Want: []string{"function declaration"}},
		},
	},
}
