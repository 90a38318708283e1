package integration

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/internal/require"
)

const cookbook = "../docs/cookbook"

// recipe is a command of hostsup attach that a page of the cookbook shows.
type recipe struct {
	page string
	args []string // behind attach
}

var (
	fenced  = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")
	literal = regexp.MustCompile(`"[^"]*"`)
)

// recipes returns the commands in the settings of all pages, in whatever language they are:
// the strings behind "attach".
func recipes(t *testing.T) (all []recipe) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(cookbook, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		page := filepath.Base(path)
		for _, block := range fenced.FindAllStringSubmatch(string(read(t, path)), -1) {
			kind, text := block[1], block[2]
			if kind == "json" && !json.Valid([]byte(text)) {
				t.Errorf("%s shows what is no JSON:\n%s", page, text)
			}
			text = strings.ReplaceAll(text, "${workspaceFolder}", "PROJECT")
			for _, rest := range strings.Split(text, `"attach"`)[1:] {
				list, _, _ := strings.Cut(strings.NewReplacer("}", "]", ")", "]").Replace(rest), "]")
				var args []string
				for _, s := range literal.FindAllString(list, -1) {
					args = append(args, strings.Trim(s, `"`))
				}
				all = append(all, recipe{page, args})
			}
		}
	}
	return all
}

// What the pages of the cookbook put into settings starts the servers, and each page but the
// one with the list shows such a command.
func TestCookbookCommands(t *testing.T) {
	t.Parallel()
	pages := map[string]bool{}
	for _, r := range recipes(t) {
		pages[r.page] = true
		at := slices.Index(r.args, "--")
		if at < 0 || at == len(r.args)-1 {
			t.Errorf("%s: no command in %q", r.page, r.args)
			continue
		}
		flags, command := r.args[:at:at], slices.Clone(r.args[at+1:])
		if command[0] == "clangd" { // in the place of any server with a setting for its arguments
			continue
		}
		t.Run(r.page+" "+command[0], func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, list := range [][]string{flags, command} {
				for i, a := range list {
					list[i] = strings.ReplaceAll(a, "PROJECT", dir)
				}
			}
			if len(flags) > 0 { // the servers are not installed where those of a person are
				c := confining(t, dir)
				flags = append(flags, c[slices.Index(c, "--level"):slices.Index(c, "--write")]...)
			}
			command[0] = npm(t, command[0])
			args := slices.Concat(flags, []string{"--"}, command)
			switch part := filepath.Base(command[0]); part {
			case "pyright-langserver":
				a, cmd := attachAlone(t, jsonrpc.Headers(jsonrpc.Options{}), dir, args...)
				if out := a.must("initialize", opening(dir)); !strings.Contains(out, "hoverProvider") {
					t.Error(out)
				}
				endsAlone(t, a, cmd, part, func() {
					a.must("shutdown", nil)
					a.tell("exit", nil)
				})
			case "mcp-server-filesystem":
				written(t, dir, "note", "hello")
				a, cmd := attachAlone(t, jsonrpc.Lines(jsonrpc.Options{}), dir, args...)
				a.must("initialize", dict{"protocolVersion": "2025-06-18", "capabilities": dict{}, "clientInfo": dict{"name": "agent", "version": "1"}})
				a.tell("notifications/initialized", nil)
				if out := a.must("tools/call", dict{"name": "read_text_file", "arguments": dict{"path": filepath.Join(dir, "note")}}); !strings.Contains(out, "hello") {
					t.Error(out)
				}
				endsAlone(t, a, cmd, part, func() { _ = a.rw.Close() })
			default:
				t.Errorf("nothing tries %q", part)
			}
		})
	}
	paths, _ := filepath.Glob(filepath.Join(cookbook, "*.md")) // the pattern is valid
	for _, path := range paths {
		if page := filepath.Base(path); page != "README.md" && !pages[page] {
			t.Errorf("%s shows no command", page)
		}
	}
}

// shownIn returns the only block of a language in a page that has a text in it.
func shownIn(t *testing.T, page, language, with string) string {
	t.Helper()
	var found []string
	for _, block := range fenced.FindAllStringSubmatch(string(read(t, filepath.Join(cookbook, page))), -1) {
		if block[1] == language && strings.Contains(block[2], with) {
			found = append(found, block[2])
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s shows %d blocks with %s", page, len(found), with)
	}
	return found[0]
}

// cookbookPath is a folder with the programs that the pages name.
func cookbookPath(t *testing.T, names ...string) string {
	t.Helper()
	bin := t.TempDir()
	if err := os.Symlink(hostsupBinary(t), filepath.Join(bin, "hostsup")); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.Symlink(npm(t, name), filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	return bin
}

// A Neovim with the settings of the page hovers, its server is killed, and it hovers again.
func TestCookbookNeovim(t *testing.T) {
	t.Parallel()
	nvim := peer(t, "/usr/bin/nvim", "nvim")
	dir, bin := t.TempDir(), cookbookPath(t, "pyright-langserver")
	written(t, dir, "init.lua", shownIn(t, "neovim.md", "lua", "start_client"))
	written(t, dir, "a.py", "number: int = 1\nnumber\n")
	written(t, dir, "play.lua", `
local function hover()
  local said
  vim.wait(120000, function()
    local params = vim.lsp.util.make_position_params(0, "utf-16")
    for _, one in pairs(vim.lsp.buf_request_sync(0, "textDocument/hover", params, 20000) or {}) do
      if one.result and one.result.contents then said = one.result.contents.value end
    end
    return said ~= nil
  end, 100)
  return said
end
vim.api.nvim_win_set_cursor(0, { 2, 0 })
vim.fn.writefile({ hover() }, "before")
vim.wait(120000, function() return vim.fn.filereadable("killed") == 1 end, 50)
vim.fn.writefile({ hover() }, "after")
vim.fn.writefile({ #vim.lsp.get_active_clients() }, "clients")
vim.cmd("qa!")
`)
	cmd := exec.Command(nvim, "--headless", "-u", "init.lua", "a.py", "-c", "luafile play.lua")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+dir, "XDG_STATE_HOME="+dir, "XDG_CACHE_HOME="+dir, "TMPDIR="+dir)
	var out lockedBuffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	eventually(t, func() bool {
		select {
		case err := <-ended:
			t.Fatalf("it has ended: %v: %s", err, out.String())
		default:
		}
		_, err := os.Stat(filepath.Join(dir, "before"))
		return err == nil
	}, "the first answer")
	killed(t, cmd, "pyright-langserver")
	written(t, dir, "killed", "")
	if err := <-ended; err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	for name, want := range map[string]string{"before": "(variable) number", "after": "(variable) number", "clients": "1"} {
		mentions(t, string(read(t, filepath.Join(dir, name))), want)
	}
}

// Codex reads the list of the page.
func TestCookbookCodex(t *testing.T) {
	t.Parallel()
	codex := require.Codex(t)
	home := t.TempDir()
	written(t, home, "config.toml", shownIn(t, "codex.md", "toml", "mcp_servers"))
	cmd := exec.Command(codex, "mcp", "list", "--json")
	cmd.Env = append(os.Environ(), "CODEX_HOME="+home, "HOME="+home)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var list []struct {
		Name      string
		Transport struct {
			Command string
			Args    []string
		}
	}
	if err := json.Unmarshal(out, &list); err != nil || len(list) != 1 || list[0].Transport.Command != "hostsup" || !slices.Contains(list[0].Transport.Args, "mcp-server-filesystem") {
		t.Errorf("%v: %s", err, out)
	}
}
