//go:build linux

package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	confine "github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/supervisor"
)

// tree writes files, by their paths, and returns their folder.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := place(t, os.Geteuid()) // a confined host may have another user
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// finds calls a command of the extension that searches and compares its result, as JSON.
func finds(t testing.TB, h *supervisor.Host, want, command string, args ...any) {
	t.Helper()
	var out json.RawMessage
	if err := executes(t, h, &out, append([]any{"finder." + command}, args...)...); err != nil || string(out) != want {
		t.Errorf("%s %v:\n%s, %v; want\n%s", command, args, out, err, want)
	}
}

func searched(t testing.TB, version, dir string) supervisor.HostSpec {
	t.Helper()
	return edited(t, version, "search", func(_ *plan.Spec, opt *vscode.Options) {
		opt.Reconnect = true // a confined host has only the sockets that it is given
		opt.Workspace = &vscode.Workspace{Folders: []string{dir}}
	})
}

// What extensions find in their workspace, with each of the four methods of the API.
func TestSearch(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		dir := tree(t, map[string]string{
			"a.go": "package a // needle\n", "src/b.ts": "let ü = '😀 Needle';\r\n", "src/c.test.ts": "needle needle\nlast\n",
			"node_modules/m/x.ts": "needle\n", ".git/config": "needle\n", "out/o.ts": "needle\n", ".gitignore": "out/\n", "binary.ts": "needle\x00\n",
		})
		_, h := alone(t, searched(t, version, dir))
		finds(t, h, `["binary.ts","node_modules/m/x.ts","out/o.ts","src/b.ts","src/c.test.ts"]`, "files", "**/*.ts")
		finds(t, h, `["binary.ts","out/o.ts","src/b.ts"]`, "files", "**/*.ts", "{**/*.test.ts,**/node_modules/**}")
		finds(t, h, `["a.go"]`, "files", "*.go", nil)
		finds(t, h, `[".git/config"]`, "files", "**/config", nil)
		finds(t, h, `[]`, "files", "**/config")
		finds(t, h, `["src/b.ts"]`, "files", "*", "*.test.*", 10, filepath.Join(dir, "src"))
		finds(t, h, `["src/b.ts","src/c.test.ts"]`, "files2", []string{"src/**"}, map[string]any{})
		finds(t, h, `["binary.ts","src/b.ts"]`, "files2", []string{"**/*.ts"}, map[string]any{"exclude": []string{"**/*.test.*"}})
		finds(t, h, `["binary.ts","out/o.ts","src/b.ts","src/c.test.ts"]`, "files2", []string{"**/*.ts"}, map[string]any{"useIgnoreFiles": map[string]bool{"local": false}})
		finds(t, h, `0`, "cancelled", "**/*")
		var some []string
		if err := executes(t, h, &some, "finder.files", "**/*", nil, 2); err != nil || len(some) != 2 {
			t.Errorf("%d files, %v; want 2", len(some), err)
		}

		// A proposed method takes node_modules as well, unless it is told to leave out search.exclude.
		query := map[string]any{"pattern": "needle"}
		lean := map[string]any{"useDefaultExcludes": true, "useSearchExclude": true}
		finds(t, h, `{"out":["a.go 0:13:0:19 0:13:0:19 package a // needle\n","src/b.ts 0:12:0:18 0:12:0:18 let ü = '😀 Needle';\r\n",`+
			`"src/c.test.ts 0:0:0:6,0:7:0:13 0:0:0:6,0:7:0:13 needle needle\n"],"full":false}`, "text", query, lean)
		finds(t, h, `{"out":["src/c.test.ts 0:0:0:6 0:0:0:6 needle needle\n","src/c.test.ts 2 last"],"full":true}`, "text", query,
			map[string]any{"include": "**/c.*", "maxResults": 1, "afterContext": 1})
		finds(t, h, `{"out":["a.go 0:13:0:19 package a // needle\n","src/c.test.ts 0:0:0:6,0:7:0:13 needle needle\n"],"full":false}`, "text2",
			map[string]any{"pattern": `\bneedle\b`, "isRegExp": true, "isCaseSensitive": true}, map[string]any{})
		finds(t, h, `{"out":["src/c.test.ts 0:7:1:4 needle needle\nlast\n"],"full":false}`, "text2",
			map[string]any{"pattern": `needle\nlast`, "isRegExp": true}, map[string]any{"include": []string{"**/*.ts"}})
		var out any
		if err := executes(t, h, &out, "finder.text", map[string]any{"pattern": "(", "isRegExp": true}, lean); err == nil {
			t.Errorf("a wrong expression has found %v", out)
		}
	})
}

// The settings of the user say what is found.
func TestSearchSettings(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		dir := tree(t, map[string]string{"a.ts": "", "a.js": "", "b.js": "", ".git/c.js": "", "gen/d.js": "", ".gitignore": "b.js\n"})
		_, h := alone(t, edited(t, version, "search", func(_ *plan.Spec, opt *vscode.Options) {
			opt.Workspace = &vscode.Workspace{Folders: []string{dir}}
			opt.Settings = map[string]any{
				"files.exclude":         map[string]any{"**/.git": false, "gen": true, "**/*.js": map[string]any{"when": "$(basename).ts"}},
				"search.useIgnoreFiles": false,
			}
		}))
		finds(t, h, `[".git/c.js","b.js"]`, "files2", []string{"**/*.js"}, map[string]any{})
	})
}

// A confined host must not find what it may not read.
func TestSearchConfined(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		secret := tree(t, map[string]string{"key.ts": "needle\n"})
		dir := tree(t, map[string]string{"a.ts": "needle\n"})
		if err := os.Symlink(secret, filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		spec := searched(t, version, dir)
		confined(t, &spec, dir)
		_, h := alone(t, spec)
		finds(t, h, `["a.ts"]`, "files", "**/*.ts")
		finds(t, h, `{"out":["a.ts 0:0:0:6 0:0:0:6 needle\n"],"full":false}`, "text", map[string]any{"pattern": "needle"}, map[string]any{})
		var out any
		if err := executes(t, h, &out, "finder.files", "*", nil, 0, secret); err == nil {
			t.Errorf("a folder that is not granted was searched: %v", out)
		}
	})
}

// confined confines a host to what it needs and one folder more, which it reads.
func confined(t testing.TB, s *supervisor.HostSpec, read string) {
	t.Helper()
	p, ok := s.Protocol.(*vscode.Protocol)
	if !ok {
		t.Fatalf("%T", s.Protocol)
	}
	policy, _ := confine.Profile("node")
	reads, writes := p.Options().Grants(s.Name)
	for _, dir := range s.Extensions.Folders {
		reads = append(reads, dir.Dir)
	}
	policy.Read, policy.Write = append(append(policy.Read, read), reads...), append(policy.Write, writes...)
	policy.Exec = append(policy.Exec, s.Command[0])
	policy.Level = confine.Landlock // or stronger, if it can be here
	s.Sandbox = &policy
}
