//go:build linux

package integration

import lang "github.com/hostsup/hostsup/workbench/language"

// textScenarios are those of Markdown, PHP, and the files of editors and extensions.
var textScenarios = []scenario{
	{
		ID: "vscode.markdown-language-features", Lacks: "with 1.139.1 the symbols that are asked for during the kill may be without headings: the server answers before it has parsed the file",
		Extensions: []string{"markdown-basics", "markdown-language-features"},
		Settings:   map[string]any{"markdown.validate.enabled": true, "markdown.occurrencesHighlight.enabled": true},
		Files: map[string]string{
			"a.md": "# One\n\ntext [b](b.md#two) and [none](missing.md)\n\n## Below\n\n[ref]: https://example.org\n\n[x][ref] [y][ref]\n",
			"b.md": "# Two\n\nback to [a](a.md) [head](a.md#one) and [head](#two)\n",
		},
		Steps: []scenarioStep{
			// It is the one that waits during the kill.
			{Feature: lang.FeatureSymbols, At: "a.md", Varies: true, Want: []string{"a.md:1:1 string # One", "a.md:5:1   string ## Below"}},
			{Feature: lang.FeatureWorkspaceSymbol, At: "Two", Want: []string{"# Two"}},
			{Feature: lang.FeatureDefinition, At: "a.md:3:12", Want: []string{"b.md:1:1"}},
			{Feature: lang.FeatureReferences, At: "a.md:1:3", Want: []string{"a.md:1:1", "b.md:3:26"}},
			{Feature: lang.FeatureRename, At: "b.md:1:4", Text: "Three", Want: []string{`b.md:1:3-1:6 "Three"`, `a.md:3:15-3:18 "three"`, `b.md:3:48-3:51 "three"`}},
			{Feature: lang.FeatureLinks, At: "a.md", Want: []string{"$FILE/b.md#L1,1", "$FILE/missing.md", "https://example.org"}},
			{Feature: lang.FeatureFolding, At: "a.md", Want: []string{`{"start":4,"end":8}`}, Wants: map[string][]string{doorLSP: {`{"endLine":8,"startLine":4}`}}},
			{Feature: lang.FeatureSelections, At: "a.md:3:3", Want: []string{`"line":2,"character":41`}},
			{Feature: lang.FeatureCompletion, At: "a.md:3:16", Want: []string{"two"}},
			{Feature: lang.FeatureDiagnostics, At: "a.md", Want: []string{"a.md:3:31: warning: File does not exist at path: $WORK/missing.md"}},
			{Feature: lang.FeatureHighlights, At: "a.md:7:2", Want: []string{`"line":6`}},
			{Command: "markdown.api.render", Arguments: []any{"# Head\n\n*text*"}, Want: []string{"Head", "<em>text</em>"}},
		},
	},
	{
		ID: "vscode.php-language-features", Extensions: []string{"php", "php-language-features"},
		Files: map[string]string{"a.php": "<?php\n$a = array_ma\nfunction own($x) { return $x; }\nown($a);\nstrlen($a);\n"},
		Steps: []scenarioStep{
			{Feature: lang.FeatureCompletion, At: "a.php:2:14", Want: []string{"array_map function"}},
			{Feature: lang.FeatureHover, At: "a.php:5:3", Want: []string{"Get string length", "strlen( string $string ): int"}},
			{Feature: lang.FeatureSignature, At: "a.php:5:8", Want: []string{"strlen( string $string )"}},
		},
	},
	{
		ID: "vscode.configuration-editing", Lacks: "what VS Code's own schemas say: of settings it has those that extensions contribute, and `launch.json` and others may have anything",
		Extensions: []string{"json", "json-language-features", "configuration-editing"},
		Files: map[string]string{
			".vscode/launch.json":             "{\"configurations\": [{\"program\": \"${\"}]}\n",
			".vscode/settings.json":           "{\"files.associations\": {\"*.x\": \"\"},\n\"json.validate.enable\": 1,\n\"json.maxItemsComputed\": 2,\n\"other\": 3,\n}\n",
			".vscode/tasks.json":              "{\"tasks\": [1], \n\"\"}\n",
			".vscode/extensions.json":         "{\"recommendations\": [\"bad\"]}\n",
			".devcontainer/devcontainer.json": "{\"name\": 1, \n\"\"}\n",
		},
		Steps: []scenarioStep{
			{Feature: lang.FeatureSymbols, At: ".vscode/settings.json", Want: []string{"settings.json:1:2 module files.associations"}},
			{Feature: lang.FeatureCompletion, At: ".vscode/launch.json:1:36", Want: []string{"${workspaceFolder} property"}},
			{
				Feature: lang.FeatureDiagnostics, At: ".vscode/settings.json", Varies: true, Not: []string{"Unable to load schema", "settings.json:1", "settings.json:3", "settings.json:4", "settings.json:5"},
				Want: []string{`settings.json:2:25: warning: Incorrect type. Expected "boolean".`},
			},
			{Feature: lang.FeatureHover, At: ".vscode/settings.json:3:5", Want: []string{"maximum number of outline symbols and folding regions"}},
			{Feature: lang.FeatureCompletion, At: ".vscode/settings.json:4:2", Want: []string{"json.format.enable"}},
			{Feature: lang.FeatureDiagnostics, At: ".vscode/tasks.json", Varies: true, Want: []string{"tasks.json:2:3: error: Colon expected"}, Not: []string{"Unable to load schema"}},
			{Feature: lang.FeatureDiagnostics, At: ".devcontainer/devcontainer.json", Varies: true, Want: []string{"devcontainer.json:2:3: error: Colon expected"}},
		},
	},
	{
		ID: "vscode.extension-editing", Lacks: "what `vscode://schemas/vscode-extensions` says: `package.json` may have anything",
		Extensions: []string{"json", "json-language-features", "markdown-basics", "extension-editing"},
		Files: map[string]string{
			"package.json": "{\"name\": \"x\", \"publisher\": \"y\", \"version\": \"1.0.0\", \"engines\": {\"vscode\": \"^1.60.0\"},\n\"icon\": \"icon.svg\",\n\"activationEvents\": [\"*\"]}\n",
			"README.md":    "![a](http://example.org/a.svg)\n",
		},
		Steps: []scenarioStep{
			{Feature: lang.FeatureDiagnostics, At: "package.json", Varies: true, Want: []string{"package.json:2:10: warning: SVGs are not a valid image source.", "package.json:3:22: information: Using '*' activation is usually a bad idea"}, Not: []string{"Unable to load schema"}},
			{Feature: lang.FeatureDiagnostics, At: "README.md", Want: []string{"README.md:1:6: warning: Images must use the HTTPS protocol.", "SVGs are not a valid image source."}},
		},
	},
}
