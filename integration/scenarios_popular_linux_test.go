//go:build linux

package integration

import lang "github.com/hostsup/hostsup/workbench/language"

// popularScenarios are those of extensions from npm.
var popularScenarios = []scenario{
	{
		ID: "client.bash", Extensions: []string{"shellscript", "client:bash"}, Late: true,
		Files: map[string]string{
			"lib.sh": "# greets somebody\ngreet() {\n  local who=$1\n  echo \"hello $who\"\n}\n",
			"a.sh":   "#!/bin/sh\n. ./lib.sh\ncount=1\ngreet \"$count\"\ngr\n",
		},
		Steps: []scenarioStep{
			{Feature: lang.FeatureHover, At: "a.sh:4:2", Want: []string{"Function: **greet**", "greets somebody"}},
			{Feature: lang.FeatureDefinition, At: "a.sh:4:2", Want: []string{"lib.sh:2:1"}},
			{Feature: lang.FeatureReferences, At: "lib.sh:2:2", Varies: true, Want: []string{"lib.sh:2:1", "a.sh:4:1"}},
			{Feature: lang.FeatureSymbols, At: "lib.sh", Want: []string{"lib.sh:2:1 function greet", "variable who"}},
			{Feature: lang.FeatureHighlights, At: "a.sh:3:2", Want: []string{`"line":2`, `"line":3`}},
			{Feature: lang.FeatureCompletion, At: "a.sh:5:3", Want: []string{"greet function"}},
			{Feature: lang.FeatureRename, At: "a.sh:3:2", Text: "total", Want: []string{`a.sh:3:1-3:6 "total"`, `a.sh:4:9-4:14 "total"`}},
			{Command: "bashIde.restart", Want: []string{"Bash Language Server"}},
		},
	},
	{
		ID: "client.yaml", Extensions: []string{"yaml", "client:yaml"},
		Settings: map[string]any{"yaml.schemaStore.enable": false},
		Files: map[string]string{
			"schema.json": `{"type":"object","properties":{"port":{"type":"number","description":"where it listens"},"mode":{"enum":["fast","safe"]}}}`,
			"app.yaml":    "# yaml-language-server: $schema=./schema.json\nport: many\nmode: fast\n",
			"b.yaml":      "name:    x\nlist:\n    - a\n    - &one b\nother: *one\n",
		},
		Steps: []scenarioStep{
			{Feature: lang.FeatureSymbols, At: "b.yaml", Want: []string{"b.yaml:1:1 string name x", "array list"}},
			{Feature: lang.FeatureFormat, At: "b.yaml", Want: []string{"b.yaml:1:"}},
			{Feature: lang.FeatureDefinition, At: "b.yaml:5:9", Want: []string{"b.yaml:4:"}},
			{Feature: lang.FeatureHover, At: "app.yaml:2:2", Want: []string{"where it listens"}},
			{Feature: lang.FeatureCompletion, At: "app.yaml:3:7", Want: []string{"fast", "safe"}},
			{Feature: lang.FeatureDiagnostics, At: "app.yaml", Want: []string{"app.yaml:2:7: ", `Expected "number"`}},
		},
	},
	{
		ID: "client.pyright", Extensions: []string{"python", "client:pyright"},
		Files: map[string]string{
			"shape.py": "class Shape:\n    def area(self, scale: int) -> int:\n        \"\"\"how large it is\"\"\"\n        return scale\n",
			"a.py":     "from shape import Shape\n\nbox = Shape()\nbox.area(\"x\")\nbox.\n",
		},
		Steps: []scenarioStep{
			{Feature: lang.FeatureHover, At: "a.py:4:6", Want: []string{"def area(scale: int) -> int", "how large it is"}},
			{Feature: lang.FeatureDefinition, At: "a.py:4:6", Want: []string{"shape.py:2:9"}},
			{Feature: lang.FeatureTypeDefinition, At: "a.py:3:2", Want: []string{"shape.py:1:7"}},
			{Feature: lang.FeatureReferences, At: "shape.py:1:8", Varies: true, Want: []string{"shape.py:1:7", "a.py:1:19", "a.py:3:7"}},
			{Feature: lang.FeatureSymbols, At: "shape.py", Want: []string{"shape.py:1:7 class Shape", "method area"}},
			{Feature: lang.FeatureCompletion, At: "a.py:5:5", Text: ".", Want: []string{"area method"}},
			{Feature: lang.FeatureSignature, At: "a.py:4:10", Text: "(", Want: []string{"scale: int"}},
			{Feature: lang.FeatureRename, At: "shape.py:2:10", Text: "size", Varies: true, Want: []string{`shape.py:2:9-2:13 "size"`, `a.py:4:5-4:9 "size"`}},
			{Feature: lang.FeatureDiagnostics, At: "a.py", Want: []string{"a.py:4:10: error:", "reportArgumentType"}},
		},
	},
	{
		ID: "client.docker", Extensions: []string{"client:docker"},
		Files: map[string]string{
			"a.dockerfile": "FROM alpine AS base\nRUN echo   hi\nFROM base\nfoo bar\n",
		},
		Steps: []scenarioStep{
			{Feature: lang.FeatureHover, At: "a.dockerfile:1:2", Want: []string{"FROM baseImage"}},
			{Feature: lang.FeatureDefinition, At: "a.dockerfile:3:7", Want: []string{"a.dockerfile:1:16"}},
			{Feature: lang.FeatureSymbols, At: "a.dockerfile", Want: []string{"a.dockerfile:1:1 function FROM", "a.dockerfile:2:1 function RUN"}},
			{Feature: lang.FeatureHighlights, At: "a.dockerfile:3:7", Want: []string{`"line":0`, `"line":2`}},
			{Feature: lang.FeatureRename, At: "a.dockerfile:3:7", Text: "root", Want: []string{`a.dockerfile:1:16-1:20 "root"`, `a.dockerfile:3:6-3:10 "root"`}},
			{Feature: lang.FeatureCompletion, At: "a.dockerfile:4:1", Want: []string{"ADD source dest keyword"}},
			{Feature: lang.FeatureDiagnostics, At: "a.dockerfile", Want: []string{"a.dockerfile:4:1: error: Unknown instruction: FOO"}},
		},
	},
	{
		ID: "client.svelte", Extensions: []string{"client:svelte"}, Late: true,
		Files: map[string]string{
			"a.svelte": "<script>\n  let name = 1;\n</script>\n<p>{name}</p>\n",
			"b.svelte": "<p>{nope\n",
		},
		Steps: []scenarioStep{
			{Feature: lang.FeatureHover, At: "a.svelte:4:6", Want: []string{"let name: number"}},
			{Feature: lang.FeatureDefinition, At: "a.svelte:4:6", Want: []string{"a.svelte:2:7"}},
			{Feature: lang.FeatureReferences, At: "a.svelte:2:8", Want: []string{"a.svelte:2:7", "a.svelte:4:5"}},
			{Feature: lang.FeatureRename, At: "a.svelte:2:8", Text: "title", Want: []string{`a.svelte:2:7-2:11 "title"`, `a.svelte:4:5-4:9 "title"`}},
			{Feature: lang.FeatureDiagnostics, At: "b.svelte", Want: []string{"b.svelte:", "error: "}},
		},
	},
	{
		ID: "client.tailwindcss", Extensions: []string{"html", "client:tailwindcss"}, Late: true,
		Files: map[string]string{
			"app.css": "@import \"tailwindcss\";\n",
			"a.html":  "<div class=\"flex p-4 text-red-500\">x</div>\n",
		},
		Steps: []scenarioStep{
			{Feature: lang.FeatureHover, At: "a.html:1:14", Want: []string{"display: flex"}},
			{Feature: lang.FeatureCompletion, At: "a.html:1:17", Want: []string{"flex-col"}},
		},
	},
	{
		ID: "client.prisma", Extensions: []string{"client:prisma"},
		Files: map[string]string{
			"a.prisma": "datasource db {\n  provider = \"sqlite\"\n}\n\nmodel User {\n id Int @id\n  posts Post[]\n}\n\nmodel Post {\n  id Int @id\n  owner User @relation(fields: [id], references: [id])\n}\n",
			"b.prisma": "model Thing {\n  id Int @id\n  name Strin\n}\n",
		},
		Steps: []scenarioStep{
			{Feature: lang.FeatureDefinition, At: "a.prisma:7:10", Want: []string{"a.prisma:10:"}},
			{Feature: lang.FeatureSymbols, At: "a.prisma", Want: []string{"User", "Post"}},
			{Feature: lang.FeatureFormat, At: "a.prisma", Want: []string{"a.prisma:6:2"}},
			{Feature: lang.FeatureCompletion, At: "b.prisma:3:8", Want: []string{"BigInt typeParameter"}},
			{Feature: lang.FeatureDiagnostics, At: "b.prisma", Want: []string{`b.prisma:3:8: error: Type "Strin"`}},
		},
	},
	{
		ID: "client.vim", Extensions: []string{"client:vim"}, Late: true,
		Files: map[string]string{
			"a.vim": "function! Greet(who)\n  let l:text = 'hello ' . a:who\n  return l:text\nendfunction\ncall Greet('a')\n",
			"b.vim": "let x = [1,\n",
		},
		Steps: []scenarioStep{
			{Feature: lang.FeatureDefinition, At: "a.vim:5:7", Want: []string{"a.vim:1:11"}},
			{Feature: lang.FeatureReferences, At: "a.vim:5:7", Want: []string{"a.vim:5:6"}},
			{Feature: lang.FeatureSymbols, At: "a.vim", Want: []string{"Greet"}},
			{Feature: lang.FeatureRename, At: "a.vim:5:7", Text: "Hail", Want: []string{`a.vim:1:11-1:16 "Hail"`, `a.vim:5:6-5:11 "Hail"`}},
			{Feature: lang.FeatureHighlights, At: "a.vim:5:7", Want: []string{`"line":0`, `"line":4`}},
			{Feature: lang.FeatureCompletion, At: "a.vim:5:3", Want: []string{"packloadall"}},
			{Feature: lang.FeatureDiagnostics, At: "b.vim", Want: []string{"b.vim:1:12: error: unexpected token: <EOL>"}},
		},
	},
	{
		ID: "client.compose", Extensions: []string{"client:compose"},
		Files: map[string]string{
			"a.compose.yaml": "services:\n  web:\n    image: nginx\n    ports:\n      - \"80:80\"\n",
			"c.compose.yaml": "services:\n  web:\n    image:   nginx\n    \n",
			"b.compose.yaml": "services:\n  web: [\n",
		},
		Steps: []scenarioStep{
			{Feature: lang.FeatureHover, At: "a.compose.yaml:3:6", Want: []string{"image"}},
			{Feature: lang.FeatureLinks, At: "a.compose.yaml", Want: []string{"https://hub.docker.com/_/nginx"}},
			{Feature: lang.FeatureCompletion, At: "c.compose.yaml:4:5", Want: []string{"build:"}},
			{Feature: lang.FeatureDiagnostics, At: "b.compose.yaml", Want: []string{"b.compose.yaml:3:1: error: Flow sequence"}},
		},
	},
	{
		ID: "client.sass", Extensions: []string{"scss", "client:sass"}, Late: true,
		Files: map[string]string{
			"_colors.scss": "/// The colour of the house.\n$house: #ff0000;\n\n@mixin box($size) {\n  width: $size;\n}\n",
			"a.scss":       "@use \"colors\";\n\n.a {\n  color: colors.$house;\n  @include colors.box(2px);\n}\n",
		},
		Steps: []scenarioStep{
			{Feature: lang.FeatureSymbols, At: "_colors.scss", Want: []string{"$house", "box"}},
			{Feature: lang.FeatureHover, At: "a.scss:4:18", Want: []string{"The colour of the house"}},
			{Feature: lang.FeatureDefinition, At: "a.scss:4:18", Want: []string{"_colors.scss:2:1"}},
			{Feature: lang.FeatureDefinition, At: "a.scss:5:20", Want: []string{"_colors.scss:4:8"}},
			{Feature: lang.FeatureReferences, At: "_colors.scss:2:3", Want: []string{"a.scss:4:"}},
			{Feature: lang.FeatureRename, At: "_colors.scss:2:3", Text: "roof", Want: []string{"_colors.scss:2:", "a.scss:4:"}},
			{Feature: lang.FeatureLinks, At: "a.scss", Want: []string{"_colors.scss"}},
		},
	},
	{
		ID: "vscode.@theia/vscode-builtin-html-language-features", Extensions: []string{"html", "npm:@theia/vscode-builtin-html-language-features"},
		Files: map[string]string{
			"a.html": "<body><div id=\"one\"><p>a</p></div></body>\n",
			"b.html": "<di\n",
		},
		Steps: []scenarioStep{
			{Feature: lang.FeatureHover, At: "a.html:1:9", Want: []string{"div element"}},
			{Feature: lang.FeatureFormat, At: "a.html", Want: []string{"a.html:1:7"}},
			{Feature: lang.FeatureCompletion, At: "b.html:1:4", Want: []string{"div property"}},
			{Feature: lang.FeatureSymbols, At: "a.html", Want: []string{"body", "div#one"}},
			{Feature: lang.FeatureHighlights, At: "a.html:1:9", Want: []string{`"character":7`, `"character":30`}},
		},
	},
	{
		ID: "vscode.@theia/vscode-builtin-git", Extensions: []string{"npm:@theia/vscode-builtin-git"},
		Files: map[string]string{"a.txt": "one\n"},
		Steps: []scenarioStep{
			{Command: "git.init", Arguments: []any{true}, Disk: map[string]string{".git/HEAD": "ref: refs/heads/"}},
		},
	},
}
