package initial

import (
	"path/filepath"
	"slices"
	"strings"
)

// known is a server that is known by name.
type known struct {
	name    string
	about   string
	program string
	args    []string
	npm     []string // packages that contain the program; the first one is its own
	pypi    string   // the package, where uvx can run it
	install string   // how else it is installed
	inherit []string // variables that it needs beside PATH and HOME
	asked   bool     // the program often exists for other reasons: only if it is named
	folders int      // how many folders it takes at most; -1 is any number
	flag    string   // in front of a folder
}

var languageServers = []known{
	{name: "pyright", about: "Python, by Pyright", program: "pyright-langserver", args: []string{"--stdio"}, npm: []string{"pyright"}},
	{name: "basedpyright", about: "Python, by basedpyright", program: "basedpyright-langserver", args: []string{"--stdio"}, npm: []string{"basedpyright"}},
	{name: "pylsp", about: "Python, by python-lsp-server", program: "pylsp", install: "pip install python-lsp-server"},
	{name: "ruff", about: "Python, by Ruff", program: "ruff", args: []string{"server"}, install: "pip install ruff", asked: true},
	{name: "typescript", about: "TypeScript and JavaScript", program: "typescript-language-server", args: []string{"--stdio"}, npm: []string{"typescript-language-server", "typescript@5"}},
	{name: "deno", about: "TypeScript and JavaScript, by Deno", program: "deno", args: []string{"lsp"}, install: "see deno.com", asked: true},
	{name: "json", about: "JSON", program: "vscode-json-language-server", args: []string{"--stdio"}, npm: []string{"vscode-langservers-extracted"}},
	{name: "css", about: "CSS, SCSS and Less", program: "vscode-css-language-server", args: []string{"--stdio"}, npm: []string{"vscode-langservers-extracted"}},
	{name: "html", about: "HTML", program: "vscode-html-language-server", args: []string{"--stdio"}, npm: []string{"vscode-langservers-extracted"}},
	{name: "yaml", about: "YAML", program: "yaml-language-server", args: []string{"--stdio"}, npm: []string{"yaml-language-server"}},
	{name: "bash", about: "Shell scripts", program: "bash-language-server", args: []string{"start"}, npm: []string{"bash-language-server"}},
	{name: "docker", about: "Dockerfiles", program: "docker-langserver", args: []string{"--stdio"}, npm: []string{"dockerfile-language-server-nodejs"}},
	{name: "vue", about: "Vue", program: "vue-language-server", args: []string{"--stdio"}, npm: []string{"@vue/language-server"}},
	{name: "svelte", about: "Svelte", program: "svelteserver", args: []string{"--stdio"}, npm: []string{"svelte-language-server"}},
	{name: "php", about: "PHP, by Intelephense", program: "intelephense", args: []string{"--stdio"}, npm: []string{"intelephense"}},
	{name: "gopls", about: "Go", program: "gopls", install: "go install golang.org/x/tools/gopls@latest", inherit: []string{"GOPATH", "GOFLAGS", "GOPROXY"}},
	{name: "rust-analyzer", about: "Rust", program: "rust-analyzer", install: "rustup component add rust-analyzer", inherit: []string{"CARGO_HOME", "RUSTUP_HOME"}},
	{name: "clangd", about: "C and C++", program: "clangd", install: "it comes with LLVM, as package clangd of most systems"},
	{name: "lua-language-server", about: "Lua", program: "lua-language-server", install: "see luals.github.io"},
	{name: "zls", about: "Zig", program: "zls", install: "see github.com/zigtools/zls"},
	{name: "taplo", about: "TOML", program: "taplo", args: []string{"lsp", "stdio"}, install: "cargo install taplo-cli --features lsp", asked: true},
	{name: "marksman", about: "Markdown", program: "marksman", args: []string{"server"}, install: "see github.com/artempyanykh/marksman"},
	{name: "texlab", about: "LaTeX", program: "texlab", install: "cargo install texlab"},
	{name: "terraform", about: "Terraform", program: "terraform-ls", args: []string{"serve"}, install: "see github.com/hashicorp/terraform-ls"},
	{name: "ruby", about: "Ruby", program: "ruby-lsp", install: "gem install ruby-lsp", inherit: []string{"GEM_HOME", "GEM_PATH"}},
	{name: "java", about: "Java, by Eclipse JDT", program: "jdtls", install: "see github.com/eclipse-jdtls/eclipse.jdt.ls", inherit: []string{"JAVA_HOME"}},
	{name: "haskell", about: "Haskell", program: "haskell-language-server-wrapper", args: []string{"--lsp"}, install: "ghcup install hls"},
	{name: "ocaml", about: "OCaml", program: "ocamllsp", install: "opam install ocaml-lsp-server", inherit: []string{"OPAM_SWITCH_PREFIX", "CAML_LD_LIBRARY_PATH"}},
	{name: "nil", about: "Nix", program: "nil", install: "see github.com/oxalica/nil", inherit: []string{"NIX_PATH"}},
}

var mcpServers = []known{
	{name: "filesystem", about: "Files, for agents", program: "mcp-server-filesystem", npm: []string{"@modelcontextprotocol/server-filesystem"}, folders: -1},
	{name: "everything", about: "A bit of everything that MCP has, to try clients with", program: "mcp-server-everything", args: []string{"stdio"}, npm: []string{"@modelcontextprotocol/server-everything"}},
	{name: "memory", about: "A memory, for agents", program: "mcp-server-memory", npm: []string{"@modelcontextprotocol/server-memory"}},
	{name: "sequential-thinking", about: "Thinking in steps, for agents", program: "mcp-server-sequential-thinking", npm: []string{"@modelcontextprotocol/server-sequential-thinking"}},
	{name: "fetch", about: "Web pages, for agents", program: "mcp-server-fetch", pypi: "mcp-server-fetch"},
	{name: "git", about: "Git repositories, for agents", program: "mcp-server-git", pypi: "mcp-server-git", folders: 1, flag: "--repository"},
	{name: "time", about: "Time and time zones, for agents", program: "mcp-server-time", pypi: "mcp-server-time"},
}

// KnownLanguageServers returns the names that --lsp knows.
func KnownLanguageServers() []string { return names(languageServers) }

// KnownMCPServers returns the names that --mcp knows.
func KnownMCPServers() []string { return names(mcpServers) }

func names(list []known) []string {
	out := make([]string, len(list))
	for i, k := range list {
		out[i] = k.name
	}
	return out
}

// named finds a server by its name, or by its program's name.
func named(list []known, name string) (known, bool) {
	i := slices.IndexFunc(list, func(k known) bool { return k.name == name || k.program == name })
	if i < 0 {
		return known{}, false
	}
	return list[i], true
}

// knownCommand finds the known server that a command runs: by its program, or by a
// package that npx, uvx and the like fetch. Shells, node and docker are not looked
// through.
func knownCommand(list []known, command []Text) (known, bool) {
	if len(command) == 0 || !command[0].IsLiteral() {
		return known{}, false
	}
	program := base(command[0].String())
	if !slices.Contains(fetchers, program) || program == "docker" || program == "podman" {
		i := slices.IndexFunc(list, func(k known) bool { return k.program == program && serves(k, command[1:]) })
		if i < 0 {
			return known{}, false
		}
		return list[i], true
	}
	for _, word := range command[1:] {
		name := word.String()
		if option, value, ok := strings.Cut(name, "="); ok && option == "--package" {
			name = value
		}
		if i := strings.LastIndexByte(name, '@'); i > 0 { // a version
			name = name[:i]
		}
		// A package with several programs is recognized by the program.
		i := slices.IndexFunc(list, func(k known) bool {
			return k.program == name || k.pypi == name && name != "" || k.npm != nil && k.npm[0] == name && k.npm[0] != "vscode-langservers-extracted"
		})
		if i >= 0 {
			return list[i], true
		}
	}
	return known{}, false
}

// serves reports whether a program that also does other things is told to be a server.
func serves(k known, args []Text) bool {
	return !k.asked || len(args) > 0 && len(k.args) > 0 && args[0].String() == k.args[0]
}

// base returns the name of a program without its folder and the endings that it has on
// Windows.
func base(program string) string {
	name := filepath.Base(filepath.ToSlash(program))
	return strings.TrimSuffix(strings.TrimSuffix(name, ".cmd"), ".exe")
}
