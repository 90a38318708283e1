//go:build linux

package integration

import lang "github.com/hostsup/hostsup/workbench/language"

const (
	shapesTS = `/** What has an area. */
export interface Shape {
  area(): number
}

export class Square implements Shape {
  constructor(private side: number) {}
  area(): number { return this.side * this.side }
}

export function total(shapes: Shape[], scale = 1): number {
  return shapes.reduce((sum, s) => sum + s.area() * scale, 0)
}
`
	mainTS = `import { total } from './shapes'
import { Square } from './shapes'


const squares = [new Square(2), new Square(3)]
export function run() {
  const sum = total(squares, 2)
  return sum.toFix
}
const text: string = 1
squares.
`
)

// typescriptScenario is that of TypeScript, JavaScript and their projects.
var typescriptScenario = scenario{
	ID: "vscode.typescript-language-features", Extensions: []string{"typescript-basics", "javascript", "typescript-language-features"},
	Settings: map[string]any{
		"typescript.inlayHints.parameterNames.enabled": "all", "typescript.inlayHints.variableTypes.enabled": true,
		"typescript.tsserver.useSyntaxServer":        "never", // answers are those of the project, also while it is loaded
		"typescript.implementationsCodeLens.enabled": true, "typescript.referencesCodeLens.enabled": true,
	},
	Files: map[string]string{
		"tsconfig.json": `{"compilerOptions": {"strict": true, "target": "es2020", "module": "commonjs"}, "include": ["*.ts"]}` + "\n",
		"shapes.ts":     shapesTS,
		"main.ts":       mainTS,
		"messy.ts":      "export const   a   =  {b:1}\nif(a){a.b}\n",
		"plain.js":      "/** @param {string} name */\nfunction greet(name) { return name.length }\ngreet('you')\n",
	},
	Steps: []scenarioStep{
		{Feature: lang.FeatureHover, At: "main.ts:7:15", Want: []string{"(alias) total(shapes: Shape[], scale?: number): number"}},
		{Feature: lang.FeatureDefinition, At: "main.ts:7:15", Want: []string{"shapes.ts:11:17"}},
		{Feature: lang.FeatureTypeDefinition, At: "main.ts:5:8", Want: []string{"shapes.ts:6:14"}},
		{Feature: lang.FeatureImplementation, At: "shapes.ts:2:19", Want: []string{"shapes.ts:6:14"}},
		{Feature: lang.FeatureReferences, At: "shapes.ts:6:15", Want: []string{"shapes.ts:6:14", "main.ts:2:10", "main.ts:5:22", "main.ts:5:37"}},
		{Feature: lang.FeatureHighlights, At: "main.ts:7:10", Want: []string{`"line":6`, `"line":7`}},
		{Feature: lang.FeatureCompletion, At: "main.ts:8:19", Want: []string{"toFixed method"}},
		{Feature: lang.FeatureCompletion, At: "main.ts:11:9", Text: ".", Want: []string{"forEach method", "length field"}},
		{Feature: lang.FeatureSignature, At: "main.ts:7:21", Want: []string{"total(shapes: Shape[], scale?: number): number", `"activeParameter":0`}},
		{Feature: lang.FeatureSymbols, At: "shapes.ts", Want: []string{"shapes.ts:2:18 interface Shape", "method area", "class Square", "function total"}},
		{Feature: lang.FeatureWorkspaceSymbol, At: "Square", Want: []string{"class Square"}},
		{Feature: lang.FeatureRename, At: "shapes.ts:6:15", Text: "Quad", Want: []string{`shapes.ts:6:14-6:20 "Quad"`, `main.ts:2:10-2:16 "Quad"`, `main.ts:5:22-5:28 "Quad"`}},
		{Feature: lang.FeaturePrepareRename, At: "shapes.ts:6:15", Want: []string{"Square"}},
		{Feature: lang.FeatureFormat, At: "messy.ts", Want: []string{`messy.ts:1:24-1:24 " "`, `messy.ts:2:10-2:10 " "`}},
		{Feature: lang.FeatureDiagnostics, At: "main.ts", Want: []string{"main.ts:11:9: error: Identifier expected. ts 1003", "main.ts:10:7: error: Type 'number' is not assignable to type 'string'. ts 2322", "main.ts:10:7: hint: 'text' is declared but its value is never read. ts 6133"}},
		{Feature: lang.FeatureActions, At: "main.ts", Kind: "source.organizeImports", Want: []string{"Organize Imports (source.organizeImports)"}},
		{Feature: lang.FeatureActions, At: "shapes.ts:11:20", Kind: "refactor.move", Want: []string{"Move to a new file (refactor.move.newFile)"}},
		{Feature: lang.FeatureHints, At: "main.ts", Want: []string{"side:", "scale:"}},
		{Feature: lang.FeatureLenses, At: "shapes.ts", Want: []string{"1 implementation", "2 references"}, Varies: true},
		{Feature: lang.FeatureFolding, At: "shapes.ts", Want: []string{`{"start":1,"end":2}`}, Wants: map[string][]string{doorLSP: {`{"endLine":2,"startLine":1}`}}},
		// The end of the file is (12, 2) or (13, 0) for tsserver.
		{Feature: lang.FeatureSelections, At: "shapes.ts:8:29", Varies: true, Want: []string{`{"start":{"line":7,"character":26},"end":{"line":7,"character":30}}`}, Wants: map[string][]string{doorLSP: {`"line":7,"character":26`}}},
		{Feature: lang.FeatureTokens, At: "shapes.ts", Want: []string{"shapes.ts:6:14 6 class declaration", "shapes.ts:11:17 5 function declaration"}},
		{Feature: lang.FeatureIncoming, At: "shapes.ts:11:18", Want: []string{"main.ts:6:17 function run"}},
		{Feature: lang.FeatureOutgoing, At: "main.ts:6:18", Want: []string{"shapes.ts:11:17 function total"}},
		{Feature: lang.FeatureHover, At: "plain.js:3:2", Want: []string{"function greet(name: string): number"}},
		{Feature: lang.FeatureReferences, At: "plain.js:2:11", Want: []string{"plain.js:2:10", "plain.js:3:1"}},
	},
}
