//go:build linux

package integration

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// languageClient is an extension that is VS Code's own client of LSP in front of a server from npm. So
// the popular extensions are made whose own code is not on npm, such as those for YAML and Bash.
type languageClient struct {
	Library        string         // "vscode-languageclient", or an older one in the list of peers
	Name           string         // of the server
	Module         string         // below the peers
	Args           []string       // of the server
	Transport      string         // "stdio" or "ipc"
	Language       string         // of its files
	Extensions     []string       // of its files
	Section        string         // of its settings
	Defaults       map[string]any // of its settings
	Initialization map[string]any // options
	Configuration  map[string]any // what the server is told instead of the settings
	Others         []string       // languages of other extensions, of which it has documents as well
	Plugins        []string       // packages of the peers that are plugins of TypeScript's server
}

const (
	presentClient = "vscode-languageclient"        // 11.0.0
	formerClient  = "vscode-languageclient-before" // 7.0.0, which many extensions have
)

// languageClients are the extensions "client:NAME" of scenarios.
var languageClients = map[string]languageClient{
	"bash": {
		Library: presentClient, Name: "Bash Language Server", Module: "bash-language-server/out/cli.js", Args: []string{"start"}, Transport: "stdio",
		Language: "shellscript", Extensions: []string{".sh"}, Section: "bashIde",
	},
	"yaml": {
		Library: formerClient, Name: "YAML Language Server", Module: "yaml-language-server/bin/yaml-language-server", Args: []string{"--stdio"}, Transport: "stdio",
		Language: "yaml", Extensions: []string{".yaml"}, Section: "yaml", Defaults: map[string]any{"yaml.validate": true, "yaml.hover": true, "yaml.completion": true, "yaml.format.enable": true},
	},
	"pyright": {
		Library: presentClient, Name: "Pyright", Module: "pyright/langserver.index.js", Transport: "ipc",
		Language: "python", Extensions: []string{".py"}, Section: "python",
	},
	"docker": {
		Library: formerClient, Name: "Dockerfile Language Server", Module: "dockerfile-language-server-nodejs/bin/docker-langserver", Args: []string{"--stdio"}, Transport: "stdio",
		Language: "dockerfile", Extensions: []string{".dockerfile"}, Section: "docker",
	},
	"svelte": {
		Library: presentClient, Name: "Svelte", Module: "svelte-language-server/bin/server.js", Transport: "ipc",
		Language: "svelte", Extensions: []string{".svelte"}, Section: "svelte",
	},
	"tailwindcss": {
		Library: formerClient, Name: "Tailwind CSS IntelliSense", Module: "@tailwindcss/language-server/bin/tailwindcss-language-server", Args: []string{"--stdio"}, Transport: "stdio",
		Language: "html", Extensions: []string{".html"}, Section: "tailwindCSS",
	},
	"prisma": {
		Library: formerClient, Name: "Prisma Language Server", Module: "@prisma/language-server/dist/bin.js", Transport: "ipc",
		Language: "prisma", Extensions: []string{".prisma"}, Section: "prisma", Defaults: map[string]any{"prisma.enableDiagnostics": true},
	},
	"vim": {
		Library: presentClient, Name: "Vim Language Server", Module: "vim-language-server/bin/index.js", Args: []string{"--stdio"}, Transport: "stdio",
		Language: "viml", Extensions: []string{".vim"}, Section: "vimls",
		Initialization: map[string]any{"isNeovim": false, "iskeyword": "@,48-57,_,192-255,-#", "diagnostic": map[string]any{"enable": true}, "indexes": map[string]any{"runtimepath": false, "gap": 1, "count": 1}, "suggest": map[string]any{"fromVimruntime": false, "fromRuntimepath": false}},
	},
	"compose": {
		Library: presentClient, Name: "Docker Compose", Module: "@microsoft/compose-language-service/bin/docker-compose-langserver", Args: []string{"--stdio"}, Transport: "stdio",
		Language: "dockercompose", Extensions: []string{".compose.yaml"}, Section: "compose",
	},
	"sass": {
		Library: formerClient, Name: "Some Sass", Module: "some-sass-language-server/bin/some-sass-language-server", Args: []string{"--stdio"}, Transport: "stdio",
		Language: "scss", Extensions: []string{".scss"}, Section: "somesass", Defaults: map[string]any{"somesass.workspace.loadPaths": []string{}, "somesass.workspace.exclude": []string{"**/.git/**"}},
	},
	"eslint": {
		Library: presentClient, Name: "ESLint", Module: "vscode-langservers-extracted/bin/vscode-eslint-language-server", Args: []string{"--stdio"}, Transport: "stdio",
		Language: "javascript", Extensions: []string{".js"}, Section: "eslint",
		Configuration: map[string]any{
			"validate": "on", "run": "onType", "packageManager": "npm", "useESLintClass": true, "experimental": map[string]any{"useFlatConfig": false}, "nodePath": peersInValues,
			"options": map[string]any{}, "rulesCustomizations": []any{}, "quiet": false, "onIgnoredFiles": "off", "format": true, "problems": map[string]any{"shortenToSingleLine": false},
			"codeAction":       map[string]any{"disableRuleComment": map[string]any{"enable": true, "location": "separateLine"}, "showDocumentation": map[string]any{"enable": true}},
			"codeActionOnSave": map[string]any{"enable": false, "mode": "all"},
		},
	},
	"vue": {
		Library: presentClient, Name: "Vue", Module: "@vue/language-server/bin/vue-language-server.js", Args: []string{"--stdio"}, Transport: "stdio",
		Language: "vue", Extensions: []string{".vue"}, Section: "vue", Plugins: []string{"@vue/typescript-plugin"},
	},
	"mdx": {
		Library: presentClient, Name: "MDX", Module: "@mdx-js/language-server/lib/index.js", Args: []string{"--stdio"}, Transport: "stdio",
		Language: "mdx", Extensions: []string{".mdx"}, Section: "mdx",
		Initialization: map[string]any{"typescript": map[string]any{"enabled": true, "tsdk": peersInValues + "/typescript/lib"}},
	},
}

// $PEERS in the values of a client is the folder of the peers.
const peersInValues = "$PEERS"

// clientExtension returns the folder of such an extension, with the library in it: VS Code tells by the
// folder which extension calls its API.
func clientExtension(t testing.TB, name string) string {
	t.Helper()
	c, ok := languageClients[name]
	if !ok {
		t.Fatalf("there is no client %q", name)
	}
	dir := filepath.Join(t.TempDir(), name)
	copied(t, "testdata/vscode/client", dir)
	withDependencies(t, published(t, c.Library), filepath.Join(dir, "node_modules"), presentClient)
	peers, err := filepath.Abs(peerDir)
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]any{}
	for key, value := range c.Defaults {
		settings[key] = map[string]any{"default": value}
	}
	languages, events, plugins := append([]string{c.Language}, c.Others...), []string{}, []any{}
	for _, l := range languages {
		events = append(events, "onLanguage:"+l)
	}
	for _, name := range c.Plugins {
		plugins = append(plugins, map[string]any{"name": name, "languages": []string{c.Language}, "enableForWorkspaceTypeScriptVersions": true})
		link := filepath.Join(dir, "node_modules", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(published(t, name), link)); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := json.Marshal(map[string]any{
		"name": name, "publisher": "client", "version": "1.0.0", "engines": map[string]string{"vscode": "*"}, "main": "./extension.js",
		"activationEvents": events,
		"contributes": map[string]any{
			"languages":               []any{map[string]any{"id": c.Language, "extensions": c.Extensions}},
			"configuration":           map[string]any{"properties": settings},
			"commands":                []any{map[string]any{"command": c.Section + ".restart", "title": "restart"}},
			"typescriptServerPlugins": plugins,
		},
		"server": map[string]any{
			"name": c.Name, "module": filepath.Join(peers, c.Module), "args": append([]string{}, c.Args...), "transport": c.Transport, "languages": languages,
			"section": c.Section, "initialization": c.Initialization, "configuration": c.Configuration,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	written(t, dir, "package.json", strings.ReplaceAll(string(raw), peersInValues, peers))
	return dir
}

// serverPackage returns the package of the server of such an extension.
func serverPackage(name string) string {
	parts := strings.SplitN(languageClients[name].Module, "/", 3)
	if strings.HasPrefix(parts[0], "@") {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func copied(t testing.TB, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// withDependencies copies a package of the peers with what it depends on.
func withDependencies(t testing.TB, from, into, as string) {
	t.Helper()
	dir := filepath.Join(into, as)
	copied(t, from, dir)
	own, err := filepath.Glob(filepath.Join(dir, "node_modules", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range append(own, dir) {
		raw, err := os.ReadFile(filepath.Join(d, "package.json"))
		if err != nil {
			t.Fatal(err)
		}
		var of struct{ Dependencies map[string]string }
		if err := json.Unmarshal(raw, &of); err != nil {
			t.Fatal(err)
		}
		for name := range of.Dependencies {
			if !isThere(filepath.Join(dir, "node_modules", name)) && !isThere(filepath.Join(into, name)) {
				withDependencies(t, published(t, name), into, name)
			}
		}
	}
}
