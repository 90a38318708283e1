//go:build linux

package integration

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shown is a command that a page of the documentation shows.
type shown struct {
	page   string
	line   int
	text   string
	count  int      // how often the page has shown this text so far, from 1
	output []string // what the page shows it to print
}

// of is what m has for a command: for its text, or for the text and a # and how
// often the page has shown it by then.
func of[T any](m map[string]T, c shown) (v T, ok bool) {
	if v, ok = m[fmt.Sprintf("%s #%d", c.text, c.count)]; !ok {
		v, ok = m[c.text]
	}
	return v, ok
}

// page is how the commands of one page are run: one after the other, by one
// shell, in one folder.
type page struct {
	path string
	root bool // only by the user of the test: it needs Go and the repository

	config   string            // of the supervisor, as ./config.hcl; "@" is the one in the repository
	files    map[string]string // besides
	programs map[string]string // in Go, by name: the text of each
	before   string            // script that comes first
	until    map[string]string // scripts that come before a command: people are slower than tests
	with     map[string]string // what stands for a word of a page that shows no whole commands
	exits    map[string][]int  // other codes than 0, or 1 for what prints an error
	loose    map[string]string // commands whose output is not compared, and why
	skip     map[string]string // commands that are not run here: why, and what runs them
}

const (
	needsPackages = "needs an installed VS Code and packages of extensions: install_linux_test.go runs it"
	needsEditor   = "needs an installed VS Code and extensions of one's own: cmd/hostsup/testdata/vscode and extensions_linux_test.go run it"
)

// ended lets a shell see what a person has time to see.
const ended = `await "running.*→ crashed.*SIGKILL" ./hostsup events; ./hostsup wait math --state running >/dev/null`

// pages are all pages. Those of hosts are read here and not before a test needs them: the
// program of the tests is run as other programs too, in other folders.
func pages() []page {
	return append(slices.Clone(plainPages), goPage(), pythonPage(), typescriptPage())
}

var plainPages = []page{
	{
		path: "README.md", config: "@",
		until: map[string]string{
			`./hostsup status #2`: `await "running.*sleep 5" ./hostsup status`,
		},
		exits: map[string][]int{
			`./hostsup exec --url ws://127.0.0.1:4500 -- sh -c 'uname -s; exit 3'`:                    {3},
			`./hostsup sandbox run --profile strict -- /bin/sh -c 'id -u; cat /etc/shadow; ls /home'`: {0, 1, 2, 125},
			`./hostsup sandbox explain -- git status`:                                                 {0, 125, 127, 128},
		},
		skip: map[string]string{"./test": "is what runs this test"},
	},
	{
		path: "docs/extensions.md", config: "@",
		until: map[string]string{
			`hostsup extensions #2`: `await "isolated demo.moody" hostsup events; await "demo.moody.*active" hostsup extensions`,
		},
		loose: map[string]string{`hostsup extensions #2`: "who else is a suspect depends on how soon after an activation the crash comes"},
		skip: map[string]string{
			`hostsup activate onLanguage:markdown`: needsEditor,
			`hostsup activate '*'`:                 needsEditor,
			`hostsup call code 'ExtHostCommands.$executeContributedCommand' '["git.init", true]'`: needsEditor,
			`ls -A /srv/project`:                                   needsEditor,
			`hostsup call code preview.run '["README.md"]'`:        needsEditor,
			`hostsup extensions #1`:                                needsEditor,
			`hostsup events | grep blame`:                          needsEditor,
			`hostsup extension rescan`:                             needsEditor,
			`hostsup extension install ./words-1.2.0.vsix`:         needsPackages,
			`hostsup extension install ./words-1.3.0.vsix`:         needsPackages,
			`hostsup extension rollback acme.words`:                needsPackages,
			`hostsup extension list`:                               needsPackages,
			`hostsup extension uninstall acme.words`:               needsPackages,
			`hostsup inspect code`:                                 needsEditor,
			`hostsup inspect code --profile 1s -o loop.cpuprofile`: needsEditor,
		},
	},
	{
		path: "docs/operations.md", config: "@",
		files:  map[string]string{"policy.hcl": "sandbox {\n  profile = \"strict\"\n}\n"},
		before: "cat >> config.hcl <<'END'\nexec_server \"agents\" {\n  listen = \"ws://127.0.0.1:4500\"\n}\nEND\nserve ./hostsup run\n./hostsup call math crash; ./hostsup wait math --state running",
		with: map[string]string{
			"HOST": "math", "NAME": "agents", "URL": "ws://127.0.0.1:4500", "CMD": "true", "FILE": "policy.hcl", "A": "strict", "B": "policy.hcl",
			"ID":     `"$(hostsup crashes | tail -n 1 | cut -d' ' -f1)"`,
			"EXECID": `"$(hostsup exec ps | tail -n 1 | cut -d' ' -f1)"`,
		},
		exits: map[string][]int{
			"hostsup sandbox explain -- CMD":               {0, 125},
			"hostsup sandbox explain --policy FILE":        {0, 125},
			"hostsup sandbox explain --refine FILE -- CMD": {0, 125},
			"hostsup sandbox run --policy FILE -- CMD":     {0, 125},
			"hostsup sandbox doctor":                       {0, 1},
		},
		skip: map[string]string{
			"hostsup exec attach EXECID":                            "forgets a command that has ended: cmd/hostsup/testdata/exec/detach.txtar runs it",
			"hostsup inspect HOST":                                  "needs a host that is node: cmd/hostsup/testdata/vscode/inspect.txtar and inspect_linux_test.go run it",
			"hostsup sandbox selftest":                              "takes long: escape_linux_test.go runs it",
			"hostsup attach --shared -- pyright-langserver --stdio": "needs the server and a client: attach_shared_linux_test.go runs one",
		},
	},
	{
		path: "docs/secrets.md",
		skip: map[string]string{
			`hostsup secret set github`: "asks a person at a terminal: cmd/hostsup/testdata/script/secret.txtar and tty_linux_test.go run it",
			`cat config.hcl`:            "names a program of the reader's: secret_test.go runs such a host",
			`hostsup call code memo.keep '["mail/ada@acme.test", "another-value"]'`: "needs an installed VS Code: extension_secrets_linux_test.go runs it",
			`hostsup secret list`: "lists what that has kept",
		},
	},
	{
		path: "examples/hello-host/main.go", root: true, before: "serve hostsup run",
	},
	{
		path: "examples/extensions-host/main.go", root: true, before: "serve hostsup run",
	},
	{path: "examples/embed/main.go", root: true},
	{path: "examples/actors/main.go", root: true},
	{
		path: "config.hcl", config: "@",
		exits: map[string][]int{`hostsup call math crash '{"signal": 9}'`: {1}},
	},
}

// commandsOf are the commands that a page shows.
func commandsOf(t *testing.T, repo, path string) []shown {
	t.Helper()
	text := string(read(t, filepath.Join(repo, path)))
	find := commandsOfComment
	if strings.HasSuffix(path, ".md") {
		find = commandsOfBlocks
	}
	out := find(path, text)
	seen := map[string]int{}
	for i := range out {
		seen[out[i].text]++
		out[i].count = seen[out[i].text]
	}
	return out
}

// commandsOfBlocks are those of a page of text: in blocks, the lines after a
// dollar sign, and those that begin with one of our programs.
func commandsOfBlocks(path, text string) []shown {
	var out []shown
	lang, in := "", false
	for i, line := range strings.Split(text, "\n") {
		if after, ok := strings.CutPrefix(line, "```"); ok {
			lang, in = after, !in
			continue
		}
		switch {
		case !in:
		case lang == "console" && strings.HasPrefix(line, "$ "):
			out = append(out, shown{page: path, line: i + 1, text: strings.TrimPrefix(line, "$ ")})
		case lang == "console" && len(out) > 0:
			out[len(out)-1].output = append(out[len(out)-1].output, line)
		case lang == "" && listed.MatchString(line):
			text, _, _ := strings.Cut(line, "  ") // and what it does
			out = append(out, shown{page: path, line: i + 1, text: strings.TrimSpace(text)})
		}
	}
	return out
}

// listed is a line of a block without a language, which lists commands.
var listed = regexp.MustCompile(`^(hostsup|\./hostsup|\./test|go run)( |$)`)

// unclear says which blocks of a page show neither commands nor something else that is
// named: a block is of a language, of console, or a list of commands.
func unclear(path, text string) (out []string) {
	lang, in, first := "", false, false
	for i, line := range strings.Split(text, "\n") {
		if after, ok := strings.CutPrefix(line, "```"); ok {
			if lang, in, first = after, !in, true; in && !slices.Contains([]string{"", "console", "go", "hcl", "python", "js", "json", "yaml", "lua", "elisp", "toml", "text"}, lang) {
				out = append(out, fmt.Sprintf("%s:%d: a block of %q: commands are in one of console or without a language", path, i+1, lang))
			}
			continue
		}
		switch {
		case in && lang == "" && line != "" && !listed.MatchString(line):
			out = append(out, fmt.Sprintf("%s:%d: %q is no command that is run; a block that shows no commands is one of text", path, i+1, line))
		case in && lang == "console" && first && !strings.HasPrefix(line, "$ ") && !strings.HasPrefix(line, "# "):
			out = append(out, fmt.Sprintf("%s:%d: %q is printed by no command", path, i+1, line))
		}
		first = false
	}
	return out
}

// commandsOfComment are the indented lines of a comment that begin with one of
// our programs.
func commandsOfComment(path, text string) []shown {
	var out []shown
	line := regexp.MustCompile(`^(?://\t|#     )((?:hostsup|go run) .*)$`)
	for i, l := range strings.Split(text, "\n") {
		if m := line.FindStringSubmatch(l); m != nil {
			command, _, _ := strings.Cut(m[1], "  ")
			command, _, _ = strings.Cut(command, " in one terminal")
			out = append(out, shown{page: path, line: i + 1, text: strings.TrimSpace(command)})
		}
	}
	return out
}

// hostOf is the configuration that the comment of an example shows.
func hostOf(t *testing.T, repo, path string) string {
	t.Helper()
	var out []string
	in := false
	for _, l := range strings.Split(string(read(t, filepath.Join(repo, path))), "\n") {
		l, ok := strings.CutPrefix(l, "//\t")
		in = ok && (in || strings.HasPrefix(l, "host "))
		if in {
			out = append(out, strings.ReplaceAll(l, `"./examples/`, `"`+repo+`/examples/`))
			if strings.HasPrefix(l, "  command") {
				out = append(out, fmt.Sprintf("  dir = %q", repo))
			}
		}
	}
	return strings.Join(out, "\n") + "\n"
}
