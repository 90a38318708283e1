//go:build linux

package integration

import lang "github.com/hostsup/hostsup/workbench/language"

// exported is a step that activates an extension and returns the type of what it exports.
func exported(id, kind string) scenarioStep {
	return acts("call", []string{`"result":"` + kind + `"`}, list{id})
}

// account is a step in which an extension without leave asks for a session.
func account(provider string) scenarioStep {
	return fails("NotAllowed: authentication.getSession", list{"vscode", "authentication", "getSession"}, provider, list{"scope"}, dict{"createIfNone": true})
}

// debugging is a step that starts a debugger.
func debugging(kind string) scenarioStep {
	return fails("NotSupported: debug.startDebugging is not supported: there is no window", list{"vscode", "debug", "startDebugging"},
		nil, dict{"type": kind, "request": "launch", "name": "x", "program": "$WORK/x.js"})
}

// pixel is a file that is not a text.
const pixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"

// refusedScenarios are those of the extensions that ship with VS Code and need a window, an account or a
// debugger for most of what they do. They become active, and are told what there is not.
var refusedScenarios = []scenario{
	{
		ID: "vscode.github", Extensions: []string{"github", "git", "git-base", "own:scenes"}, Files: map[string]string{"a.txt": "one\n"}, Before: repository,
		Steps: []scenarioStep{
			exported("vscode.github", "undefined"),
			acts("git", []string{`"head":"main"`, `"log":"first"`}, dict{}),
		},
	},
	{
		ID: "vscode.github-authentication", Extensions: []string{"github-authentication", "own:scenes"}, Files: map[string]string{"a.txt": ""},
		Steps: []scenarioStep{exported("vscode.github-authentication", "undefined"), account("github")},
	},
	{
		ID: "vscode.microsoft-authentication", Extensions: []string{"microsoft-authentication", "own:scenes"}, Files: map[string]string{"a.txt": ""},
		Steps: []scenarioStep{exported("vscode.microsoft-authentication", "undefined"), account("microsoft")},
	},
	{
		ID: "vscode.tunnel-forwarding", Extensions: []string{"tunnel-forwarding", "github-authentication", "own:scenes"}, Files: map[string]string{"a.txt": ""},
		Steps: []scenarioStep{
			acts("try", []string{`"error":"NotAllowed: authentication.getSession: extension \"vscode.tunnel-forwarding\" may not use accounts`}, "tunnel-forwarding.restart"),
		},
	},
	{
		ID: "vscode.debug-auto-launch", Extensions: []string{"debug-auto-launch", "ms-vscode.js-debug", "own:scenes"}, Files: map[string]string{"x.js": "1\n"},
		Questions: map[string]string{"Toggle *uto*ttach*": "Only With Flag"},
		Steps: []scenarioStep{
			acts("try", []string{`"result":null`}, "extension.node-debug.toggleAutoAttach"),
			acts("call", []string{`"autoAttachFilter":"onlyWithFlag"`}, list{"vscode", "workspace", "getConfiguration"}, "debug.javascript"),
		},
	},
	{
		ID: "vscode.debug-server-ready", Extensions: []string{"debug-server-ready", "own:scenes"}, Files: map[string]string{"x.js": "1\n"},
		Steps: []scenarioStep{exported("vscode.debug-server-ready", "undefined"), debugging("node")},
	},
	{
		ID: "ms-vscode.js-debug", Extensions: []string{"ms-vscode.js-debug", "npm", "json", "own:scenes"},
		Files: map[string]string{"x.js": "1\n", "package.json": `{"name": "w", "scripts": {"build": "true"}}` + "\n"},
		Steps: []scenarioStep{
			acts("try", []string{`"result":null`}, "extension.js-debug.createDebuggerTerminal"),
			{Feature: lang.FeatureLenses, At: "package.json", Want: []string{"Debug"}, Varies: true},
			debugging("pwa-node"),
		},
	},
	{
		ID: "ms-vscode.js-debug-companion", Extensions: []string{"ms-vscode.js-debug-companion", "own:scenes"}, Files: map[string]string{"x.js": "1\n"},
		Steps: []scenarioStep{acts("try", []string{`"result":null`}, "js-debug-companion.kill", dict{"launchId": 1})},
	},
	{
		ID: "ms-vscode.vscode-js-profile-table", Extensions: []string{"ms-vscode.vscode-js-profile-table", "own:scenes"}, Files: map[string]string{"x.cpuprofile": "{}\n"},
		Steps: []scenarioStep{
			acts("try", []string{`"result":null`}, "extension.jsProfileVisualizer.table.clearCodeLenses"),
			lacks("_workbench.openWith", "the command _workbench.openWith", list{"x.cpuprofile", "jsProfileVisualizer.cpuprofile.table"}),
		},
	},
	{
		ID: "vscode.ipynb", Extensions: []string{"ipynb", "own:scenes"}, Files: map[string]string{"n.ipynb": "{}\n"},
		Steps: []scenarioStep{
			lacks("ipynb.newUntitledIpynb", "workspace.openNotebookDocument"),
			fails("NotSupported: workspace.openNotebookDocument", list{"vscode", "workspace", "openNotebookDocument"}, dict{"uri": "n.ipynb"}),
			acts("call", []string{"nbformat"}, list{"vscode.ipynb", "exportNotebook"}, dict{"cells": list{}, "metadata": dict{}}),
		},
	},
	{
		ID: "vscode.media-preview", Extensions: []string{"media-preview", "own:scenes"}, Files: map[string]string{"i.png": pixel},
		Steps: []scenarioStep{
			exported("vscode.media-preview", "undefined"),
			fails("Error: cannot open file://", list{"vscode", "workspace", "openTextDocument"}, dict{"uri": "i.png"}),
			acts("try", []string{`"result":null`}, "imagePreview.zoomIn"),
			lacks("_workbench.openWith", "the command _workbench.openWith", list{"i.png", "imagePreview.previewEditor"}),
		},
	},
	{
		ID: "vscode.simple-browser", Extensions: []string{"simple-browser", "own:scenes"}, Files: map[string]string{"a.txt": ""},
		Steps: []scenarioStep{acts("try", []string{`"result":null`}, "simpleBrowser.show", "http://localhost:1")},
	},
	{
		ID: "vscode.terminal-suggest", Extensions: []string{"terminal-suggest", "own:scenes"}, Files: map[string]string{"a.txt": ""},
		Steps: []scenarioStep{exported("vscode.terminal-suggest", "undefined")},
	},
	{
		ID: "vscode.markdown-math", Extensions: []string{"markdown-math", "markdown-basics", "markdown-language-features", "own:scenes"}, Files: map[string]string{"a.md": ""},
		Steps: []scenarioStep{
			exported("vscode.markdown-math", "object"),
			acts("try", []string{"katex"}, "markdown.api.render", "$x^2$"),
		},
	},
	{
		ID: "vscode.mermaid-markdown-features", Extensions: []string{"mermaid-markdown-features", "markdown-basics", "markdown-language-features", "own:scenes"},
		Files: map[string]string{"a.md": ""}, Only: "1.139.1", Why: "1.100.3 does not ship it",
		Steps: []scenarioStep{
			exported("vscode.mermaid-markdown-features", "object"),
			acts("try", []string{"mermaid"}, "markdown.api.render", "```mermaid\ngraph TD;\n```\n"),
		},
	},
}
