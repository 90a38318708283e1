package editors

import (
	"bytes"
	"fmt"
	"strings"
)

// language is what editors need to know of a known language server. The names are those
// of nvim-lspconfig and of Zed, which users have in their settings.
type language struct {
	nvim      string // its name in nvim-lspconfig
	zed       string // its name in Zed; "" if that is the host's
	filetypes []string
	markers   []string // of the root of a project, beside .git
}

// languages is keyed by the names that hostsup init knows.
var languages = map[string]language{
	"pyright":             {"pyright", "pyright", []string{"python"}, []string{"pyrightconfig.json", "pyproject.toml", "setup.py", "requirements.txt"}},
	"basedpyright":        {"basedpyright", "basedpyright", []string{"python"}, []string{"pyrightconfig.json", "pyproject.toml", "setup.py", "requirements.txt"}},
	"pylsp":               {"pylsp", "pylsp", []string{"python"}, []string{"pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"}},
	"ruff":                {"ruff", "ruff", []string{"python"}, []string{"pyproject.toml", "ruff.toml", ".ruff.toml"}},
	"typescript":          {"ts_ls", "typescript-language-server", []string{"javascript", "javascriptreact", "typescript", "typescriptreact"}, []string{"tsconfig.json", "jsconfig.json", "package.json"}},
	"deno":                {"denols", "deno", []string{"javascript", "javascriptreact", "typescript", "typescriptreact"}, []string{"deno.json", "deno.jsonc"}},
	"json":                {"jsonls", "json-language-server", []string{"json", "jsonc"}, nil},
	"css":                 {"cssls", "vscode-css-language-server", []string{"css", "scss", "less"}, []string{"package.json"}},
	"html":                {"html", "vscode-html-language-server", []string{"html"}, []string{"package.json"}},
	"yaml":                {"yamlls", "yaml-language-server", []string{"yaml"}, nil},
	"bash":                {"bashls", "bash-language-server", []string{"bash", "sh"}, nil},
	"docker":              {"dockerls", "dockerfile-language-server", []string{"dockerfile"}, []string{"Dockerfile"}},
	"vue":                 {"vue_ls", "vue-language-server", []string{"vue"}, []string{"package.json"}},
	"svelte":              {"svelte", "svelte-language-server", []string{"svelte"}, []string{"package.json"}},
	"php":                 {"intelephense", "intelephense", []string{"php"}, []string{"composer.json"}},
	"gopls":               {"gopls", "gopls", []string{"go", "gomod", "gowork", "gotmpl"}, []string{"go.work", "go.mod"}},
	"rust-analyzer":       {"rust_analyzer", "rust-analyzer", []string{"rust"}, []string{"Cargo.toml", "rust-project.json"}},
	"clangd":              {"clangd", "clangd", []string{"c", "cpp", "objc", "objcpp", "cuda"}, []string{".clangd", "compile_commands.json", "compile_flags.txt"}},
	"lua-language-server": {"lua_ls", "lua-language-server", []string{"lua"}, []string{".luarc.json", ".luarc.jsonc", "stylua.toml"}},
	"zls":                 {"zls", "zls", []string{"zig"}, []string{"zls.json", "build.zig"}},
	"taplo":               {"taplo", "taplo", []string{"toml"}, []string{".taplo.toml", "taplo.toml"}},
	"marksman":            {"marksman", "marksman", []string{"markdown"}, []string{".marksman.toml"}},
	"texlab":              {"texlab", "texlab", []string{"tex", "plaintex", "bib"}, []string{".latexmkrc", "texlabroot"}},
	"terraform":           {"terraformls", "terraform-ls", []string{"terraform", "terraform-vars"}, []string{".terraform"}},
	"ruby":                {"ruby_lsp", "ruby-lsp", []string{"ruby", "eruby"}, []string{"Gemfile"}},
	"java":                {"jdtls", "jdtls", []string{"java"}, []string{"mvnw", "gradlew", "pom.xml", "build.gradle"}},
	"haskell":             {"hls", "hls", []string{"haskell", "lhaskell"}, []string{"hie.yaml", "stack.yaml", "cabal.project", "package.yaml"}},
	"ocaml":               {"ocamllsp", "ocamllsp", []string{"ocaml", "menhir", "ocamlinterface", "ocamllex", "reason", "dune"}, []string{"dune-project", "dune-workspace"}},
	"nil":                 {"nil_ls", "nil", []string{"nix"}, []string{"flake.nix"}},
}

// The lines around what is written into a Lua file.
const (
	luaBegin = "-- hostsup init: begin"
	luaEnd   = "-- hostsup init: end"
)

// lua returns the lines for Neovim. Neovim has vim.lsp.config since 0.11; for older
// ones a client is started for each file, which Neovim 0.7 must be helped to share.
func lua(hosts []Host) string {
	var b strings.Builder
	b.WriteString(luaBegin + "\n")
	b.WriteString("-- Written by `hostsup init --write-editor nvim`, which replaces everything up to the end.\n")
	b.WriteString("for _, server in ipairs({\n")
	for _, h := range hosts {
		k, ok := languages[h.Known]
		name := h.Name
		if ok && h.Name == h.Known {
			name = k.nvim
		}
		markers := append(append([]string(nil), k.markers...), ".git")
		fmt.Fprintf(&b, "  {\n    name = %s,\n    cmd = %s,\n", quoteLua(name), luaList(h.Attach))
		if ok {
			fmt.Fprintf(&b, "    filetypes = %s,\n", luaList(k.filetypes))
		} else {
			b.WriteString("    filetypes = {}, -- the types of files that it is for\n")
		}
		fmt.Fprintf(&b, "    root_markers = %s,\n  },\n", luaList(markers))
	}
	b.WriteString(luaRest)
	b.WriteString(luaEnd + "\n")
	return b.String()
}

// luaRest makes clients of the servers in the list before it.
const luaRest = `}) do
  if vim.lsp.config then
    vim.lsp.config(server.name, {
      cmd = server.cmd,
      filetypes = server.filetypes,
      root_markers = server.root_markers,
    })
    vim.lsp.enable(server.name)
  elseif #server.filetypes > 0 then -- Neovim before 0.11
    local clients = {} -- by root folder
    vim.api.nvim_create_autocmd("FileType", {
      pattern = server.filetypes,
      callback = function(args)
        local file = vim.api.nvim_buf_get_name(args.buf)
        if file == "" then
          return
        end
        local root = vim.fn.fnamemodify(file, ":p:h")
        local folder = root
        while true do
          local found = false
          for _, marker in ipairs(server.root_markers) do
            found = found or vim.loop.fs_stat(folder .. "/" .. marker) ~= nil
          end
          if found then
            root = folder
            break
          end
          local parent = vim.fn.fnamemodify(folder, ":h")
          if parent == folder then
            break
          end
          folder = parent
        end
        local id = clients[root]
        if not id or vim.lsp.client_is_stopped(id) then
          id = vim.lsp.start_client({ name = server.name, cmd = server.cmd, root_dir = root })
          clients[root] = id
        end
        if id then
          vim.lsp.buf_attach_client(args.buf, id)
        end
      end,
    })
  end
end
`

// patchLua puts a block into a Lua file, in the place of the one that is there.
func patchLua(src []byte, block string) ([]byte, error) {
	if bytes.Contains(src, []byte("\r\n")) {
		block = strings.ReplaceAll(block, "\n", "\r\n")
	}
	begin, end := lineIndex(src, luaBegin), lineIndex(src, luaEnd)
	switch {
	case begin >= 0 && end > begin:
		rest := src[end:]
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			rest = rest[i+1:]
		} else {
			rest = nil
		}
		if bytes.Equal(src[begin:len(src)-len(rest)], []byte(block)) {
			return src, nil
		}
		return append(append(bytes.Clone(src[:begin]), block...), rest...), nil
	case begin >= 0 || end >= 0:
		return nil, fmt.Errorf("%w: of the lines %q and %q it has one, or has them in the wrong order", ErrUnsafe, luaBegin, luaEnd)
	case returns(src):
		return nil, fmt.Errorf("%w: it ends with return, after which nothing may stand", ErrUnsafe)
	case openBracket(src):
		return nil, fmt.Errorf("%w: it ends within a comment or a string of several lines", ErrUnsafe)
	}
	out := bytes.Clone(src)
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	if len(out) > 0 {
		out = append(out, '\n')
	}
	return append(out, block...), nil
}

// lineIndex returns the offset of a line that is exactly this, or -1.
func lineIndex(src []byte, want string) int {
	at := 0
	for line := range bytes.Lines(src) {
		if string(bytes.TrimRight(line, "\r\n")) == want {
			return at
		}
		at += len(line)
	}
	return -1
}

// returns reports whether a statement at the left margin of a Lua file returns. It must
// be the last one.
func returns(src []byte) bool {
	for line := range bytes.Lines(src) {
		word, rest, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(" "))
		if string(word) == "return" || bytes.HasPrefix(line, []byte("return{")) || bytes.HasPrefix(line, []byte("return(")) || bytes.HasPrefix(line, []byte("return\t")) || string(word) == "return;" && len(rest) == 0 {
			return true
		}
	}
	return false
}

// openBracket reports whether a long bracket may be open at the end of a Lua file: more
// are opened than closed. Such brackets within strings make it err on the safe side.
func openBracket(src []byte) bool {
	return bytes.Count(src, []byte("[[")) > bytes.Count(src, []byte("]]")) || bytes.Count(src, []byte("[=")) > bytes.Count(src, []byte("=]"))
}
