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
			{Feature: lang.FeatureFolding, At: "data.json"},
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
			{Feature: lang.FeatureFormat, At: "a.css", Want: []string{`--main: #ff0000;\n`}},
			{Feature: lang.FeatureDiagnostics, At: "a.css", Want: []string{"a.css:3:21: warning: Unknown property: 'colr'"}},
			{Feature: lang.FeatureHighlights, At: "a.css:3:2", Want: []string{`"line":2`}},
			{Feature: lang.FeatureDefinition, At: "a.scss:3:19", Want: []string{"a.scss:1:1"}},
			{Feature: lang.FeatureSymbols, At: "a.scss", Want: []string{"variable $gap", "method wide", "class .a"}},
			{Feature: lang.FeatureReferences, At: "a.less:1:3", Want: []string{"a.less:1:1", "a.less:2:16"}},
		},
	},
}
