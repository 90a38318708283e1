//go:build linux

package integration

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	lang "github.com/hostsup/hostsup/workbench/language"
)

// needing returns a Before that gives a workspace packages of the peers, as npm would install them.
func needing(names ...string) func(t testing.TB, work string) {
	return func(t testing.TB, work string) {
		t.Helper()
		for _, name := range names {
			link := filepath.Join(work, "node_modules", name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(published(t, name), link)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// typescriptNext returns the folder of an extension with TypeScript in it, such as its nightly version has:
// the packages of VS Code from npm come without the TypeScript that extensions find there.
func typescriptNext(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "vscode-typescript-next")
	needing("typescript")(t, dir)
	written(t, dir, "package.json", `{"name": "vscode-typescript-next", "publisher": "ms-vscode", "version": "1.0.0", "engines": {"vscode": "*"}}`)
	return dir
}

const (
	strictTS = `{"compilerOptions": {"strict": true, "target": "esnext", "module": "esnext", "moduleResolution": "bundler", "jsx": "preserve", "allowJs": true, "experimentalDecorators": true}}` + "\n"

	pageVue = `<script setup lang="ts">
import Child from './child.vue'
const title = 'hi'
const wrong: number = title
</script>

<template>
  <Child :label="title" />
  <p class="a" v-if="title">{{ title }}</p>
</template>

<style scoped>
.a { color: red; }
</style>
`
	childVue = `<script setup lang="ts">
defineProps<{ label: string }>()
</script>

<template>
  <b>{{ label }}</b>
</template>
`
	pageAstro = `---
interface Props { name: string }
const { name } = Astro.props as Props
const size: number = name
---
<div class="a"><p>{name}</p></div>
<style>p { color: red; }</style>
`
)

// serverScenarios are those of frameworks and linters, whose servers are from npm.
var serverScenarios = []scenario{
	{
		ID: "client.eslint", Extensions: []string{"client:eslint"}, Late: true,
		Files: map[string]string{
			"package.json":     "{}\n", // or node looks for one in the folders above
			"eslint.config.js": "module.exports = [{ files: ['a.js'], rules: { 'no-unused-vars': 'error', 'prefer-const': 'warn', 'no-var': 'error' } }]\n",
			"a.js":             "var one = 1\nlet two = 2\ndo { two } while (two)\n",
		},
		Steps: []scenarioStep{
			{Feature: lang.FeatureDiagnostics, At: "a.js", Want: []string{"a.js:1:1: error: Unexpected var", "a.js:1:5: error: 'one' is assigned a value but never used.", "a.js:2:5: warning: 'two' is never reassigned."}},
			{Feature: lang.FeatureActions, At: "a.js:2:5", Kind: "quickfix", Want: []string{"Fix this prefer-const problem (quickfix)", "Disable prefer-const for this line (quickfix)"}},
			{Feature: lang.FeatureActions, At: "a.js:2:5", Kind: "source.fixAll.eslint", Want: []string{"Fix all fixable ESLint issues (source.fixAll.eslint)"}},
			{Feature: lang.FeatureFormat, At: "a.js", Want: []string{`a.js:1:1-1:4 "const"`}},
		},
	},
	{
		ID: "client.vue", Extensions: []string{"typescript-basics", "javascript", "typescript-language-features", "client:vue"}, Late: true, Before: needing("vue"),
		Files: map[string]string{"tsconfig.json": strictTS, "a.vue": pageVue, "child.vue": childVue},
		Steps: []scenarioStep{
			{Feature: lang.FeatureHover, At: "a.vue:9:33", Want: []string{`(property) title: "hi"`}},
			{Feature: lang.FeatureHover, At: "a.vue:3:8", Want: []string{"const title"}},
			{Feature: lang.FeatureHover, At: "a.vue:13:7", Want: []string{"color"}},
			{Feature: lang.FeatureDefinition, At: "a.vue:8:19", Want: []string{"a.vue:3:7"}},
			{Feature: lang.FeatureDefinition, At: "a.vue:8:5", Want: []string{"child.vue"}},
			{Feature: lang.FeatureReferences, At: "a.vue:3:8", Want: []string{"a.vue:3:7", "a.vue:8:18", "a.vue:9:32"}},
			{Feature: lang.FeatureRename, At: "a.vue:3:8", Text: "head", Want: []string{`a.vue:3:7-3:12 "head"`, `a.vue:9:32-9:37 "head"`}},
			{Feature: lang.FeatureSymbols, At: "a.vue", Want: []string{"a.vue:7:1 module template", "variable title"}},
			{Feature: lang.FeatureCompletion, At: "a.vue:8:10", Want: []string{"v-if keyword"}},
			{Feature: lang.FeatureDiagnostics, At: "a.vue", Want: []string{"a.vue:4:7: error: Type 'string' is not assignable to type 'number'."}},
			{Feature: lang.FeatureFormat, At: "child.vue", Want: []string{"child.vue:6:3"}},
			{Feature: lang.FeatureColors, At: "a.vue", Want: []string{"[1,0,0,1]"}},
			{Feature: lang.FeatureFolding, At: "a.vue", Want: []string{`{"start":6,"end":8}`}, Wants: map[string][]string{doorLSP: {`{"endLine":8,"startLine":6}`}}},
			{Feature: lang.FeatureHighlights, At: "a.vue:3:8", Want: []string{`"line":2`}},
			{Command: "vue.restart", Want: []string{"@vue/language-server"}},
		},
	},
	{
		ID: "astro-build.astro-vscode", Extensions: []string{"typescript-basics", "javascript", "typescript-language-features", "typescript-next", "npm:astro-vscode"}, Late: true,
		Files: map[string]string{"tsconfig.json": strictTS, "a.astro": pageAstro, "b.astro": "---\nimport A from './a.astro'\n---\n<A name=\"x\" />\n"},
		Steps: []scenarioStep{
			{Feature: lang.FeatureHover, At: "a.astro:6:21", Want: []string{"const name: string"}},
			{Feature: lang.FeatureHover, At: "a.astro:7:13", Want: []string{"color"}},
			{Feature: lang.FeatureDefinition, At: "a.astro:6:21", Want: []string{"a.astro:3:9"}},
			{Feature: lang.FeatureDefinition, At: "b.astro:4:2", Want: []string{"a.astro"}},
			{Feature: lang.FeatureReferences, At: "a.astro:3:10", Want: []string{"a.astro:3:9", "a.astro:6:20"}},
			{Feature: lang.FeatureRename, At: "a.astro:3:10", Text: "title", Want: []string{`a.astro:3:9-3:13 "name: title"`, `a.astro:6:20-6:24 "title"`}},
			{Feature: lang.FeatureSymbols, At: "a.astro", Want: []string{"a.astro:2:11 interface Props", "variable size"}},
			{Feature: lang.FeatureCompletion, At: "a.astro:6:22", Want: []string{"name variable"}},
			{Feature: lang.FeatureCompletion, At: "b.astro:4:4", Want: []string{"client:load? field"}},
			{Feature: lang.FeatureDiagnostics, At: "a.astro", Want: []string{"a.astro:4:7: error: Type 'string' is not assignable to type 'number'."}},
			{Feature: lang.FeatureColors, At: "a.astro", Want: []string{"[1,0,0,1]"}},
			{Feature: lang.FeatureFormat, At: "a.astro", Want: []string{"a.astro:2:18"}},
		},
	},
	{
		ID: "client.mdx", Extensions: []string{"client:mdx"}, Late: true,
		Files: map[string]string{
			"tsconfig.json": strictTS, "lib.ts": "/** greets */\nexport function greet(who: string) { return who }\n",
			"a.mdx": "import {greet} from './lib.js'\n\n# Title\n\n{greet('x')}\n\n[x][ref] [y](#title)\n\n[ref]: https://example.org\n",
			"b.mdx": "# One\n\n<Broken>\n",
		},
		Steps: []scenarioStep{
			{Feature: lang.FeatureHover, At: "a.mdx:5:3", Want: []string{"greet(who: string)"}},
			{Feature: lang.FeatureDefinition, At: "a.mdx:5:3", Want: []string{"lib.ts:2:17"}},
			{Feature: lang.FeatureReferences, At: "a.mdx:5:3", Want: []string{"lib.ts:2:17", "a.mdx:1:9", "a.mdx:5:2"}},
			{Feature: lang.FeatureSymbols, At: "a.mdx", Want: []string{"a.mdx:3:1 string # Title"}},
			{Feature: lang.FeatureLinks, At: "a.mdx", Want: []string{"https://example.org"}},
			{Feature: lang.FeatureFolding, At: "a.mdx", Want: []string{`{"start":2,"end":8}`}, Wants: map[string][]string{doorLSP: {`{"endLine":8,"startLine":2}`}}},
			{Feature: lang.FeatureCompletion, At: "a.mdx:5:4", Want: []string{"greet variable"}},
			{Feature: lang.FeatureSignature, At: "a.mdx:5:8", Text: "(", Want: []string{"who: string"}},
			{Feature: lang.FeatureRename, At: "a.mdx:1:10", Text: "hail", Want: []string{`a.mdx:1:9-1:14 "greet as hail"`, `a.mdx:5:2-5:7 "hail"`}},
			{Feature: lang.FeatureDiagnostics, At: "b.mdx", Want: []string{"b.mdx:1:1: error: Expected a closing tag for `<Broken>`"}},
		},
	},
}
