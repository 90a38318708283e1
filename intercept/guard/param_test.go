//go:build unix

package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/codec/mpack"
)

// encodings are those of the protocols: JSON of jsonrpc-*, dscode and vscode,
// MessagePack of hostsup and msgpack-rpc.
var encodings = map[string]codec.Encoding{"json": jsonrpc.Encoding{}, "msgpack": mpack.Encoding{}}

// refused says why the parameters of a method are, in every encoding.
func refused(t testing.TB, r *PathRules, method string, uriObjects bool, text string) error {
	t.Helper()
	var first error
	for name, enc := range encodings {
		raw, err := enc.FromJSON([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		c := r.CheckParams(method, uriObjects)
		if err := enc.Walk(raw, c); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if c.Err() != nil && !errors.Is(c.Err(), ErrOutside) && !errors.Is(c.Err(), ErrNotPath) && !errors.Is(c.Err(), ErrPath) {
			t.Errorf("%s: %v", text, c.Err())
		}
		if len(c.frames) != 0 {
			t.Errorf("%s %s: %d are open at the end", name, text, len(c.frames))
		}
		if first != nil && c.Err() == nil {
			t.Errorf("%s is refused in one encoding and not in another: %v", text, first)
		}
		first = c.Err()
	}
	return first
}

func quote(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// spellings are the ways in which a host may write an absolute path.
func spellings(path string) []string {
	var hex, twice strings.Builder
	for _, c := range []byte(path) {
		fmt.Fprintf(&hex, "%%%02x", c)
		fmt.Fprintf(&twice, "%%25%02X", c)
	}
	escaped := (&url.URL{Path: path}).EscapedPath()
	slashed := strings.ReplaceAll(path, "/", `\`)
	return []string{
		path, "/" + path, "//" + path, " " + path, path + "\n", "\t" + path, "/." + path, "/../.." + path, path + "/", path + "/.", path + "?x", path + "#L1", path + "\x00.txt",
		"file://" + escaped, "file:" + escaped, "FILE://" + escaped, "File:" + escaped, "file://localhost" + escaped, "file://LOCALHOST" + escaped,
		"file://" + strings.ReplaceAll(escaped, "/", "%2F"), "file:///" + hex.String(), "file:///" + twice.String(), "file://" + escaped + "?query", "file://" + escaped + "#fragment",
		"file:///" + escaped, "file:" + strings.TrimPrefix(escaped, "/"), "file:" + slashed, "file:///" + slashed, "file://127.0.0.1" + escaped, "file://user@localhost" + escaped,
		" file://" + escaped, "file://" + escaped + " ", "fi\tle://" + escaped, "\nfile:\n//" + escaped, "file:///a\nfile://" + escaped,
		"vscode-file://vscode-app" + escaped, "VSCODE-FILE://vscode-app" + escaped, "vscode-userdata:" + escaped, "vscode-notebook-cell:" + escaped + "#ch0", "untitled:" + escaped, "git:" + escaped + "?ref",
		"jar:file://" + escaped + "!/a", "view-source:file://" + escaped, "git+file://" + escaped,
	}
}

// shapes are the places where a string may stand; %s is that string as JSON.
var shapes = []string{
	`%s`, `[%s]`, `["text",%s]`, `[1,null,[[%s]]]`, `{"any":%s}`, `{"a":{"b":[{"c":%s}]}}`, `{%s:1}`, `{"changes":{%s:[{"newText":""}]}}`, `[{"a":[{%s:null}]}]`,
	`{"uri":%s}`, `{"textDocument":{"uri":%s}}`, `{"path":%s}`, `{"Path":%s}`, `{"paths":["@",%s]}`, `{"a":1,"path":%s,"path":1}`, `{"from":%s}`, `{"external":%s}`,
	`{"$mid":1,"fsPath":%s,"scheme":"file"}`, `{"arguments":[{"deep":{"x":%s}}]}`, `{"cwd":%s}`, `{"file":[[%s]]}`,
}

func TestParamsThatLeadOut(t *testing.T) {
	top, r := tree(t)
	for _, path := range []string{top + "/beside/secret", top + "/ws/out/secret", top + "/ws/../beside", top + "/ws/src/../../beside/x", top + "/ws/new", "/etc/passwd", "/nowhere/at all", "/x"} {
		for _, text := range spellings(path) {
			for _, shape := range shapes {
				params := strings.Replace(strings.Replace(shape, "%s", quote(text), 1), `"@",`, quote(top+"/ws")+",", 1)
				err := refused(t, r, "any/thing", false, params)
				if err == nil {
					t.Errorf("%s is let through", params)
				} else if strings.Contains(err.Error(), top) && !strings.Contains(shape, "{%s") {
					t.Errorf("%s: the error tells a path: %v", params, err)
				}
			}
		}
	}
	for _, params := range []string{
		// Relative, from a home folder, of Windows.
		`{"path":"a"}`, `{"path":""}`, `{"path":"untitled:one"}`, `{"path":"ab:c/../../etc/passwd"}`, `{"path":"${env:HOME}/.ssh"}`, `{"uri":"ab:../../etc"}`, `{"uri":"main.go"}`,
		`["../../etc/passwd"]`, `{"any":"a/../../b"}`, `{"a/../../b":1}`, `["..\\..\\x"]`, `["~/.ssh/id_rsa"]`, `["~root/.ssh/id_rsa"]`,
		`["C:\\Windows\\x"]`, `["c:/Windows"]`, `{"path":"C:\\x"}`, `["\\\\server\\share\\x"]`, `["\\\\?\\C:\\x"]`, `["file:///c:/Windows"]`, `["/c:/Windows"]`,
		// URIs taken apart.
		`[{"scheme":"file","path":"/etc/passwd"}]`, `[{"$mid":1,"fsPath":"/etc/passwd","external":"file:///etc/passwd","path":"/etc/passwd","scheme":"file"}]`,
		`[{"path":"/etc/passwd","scheme":"FILE","authority":""}]`, `[{"path":"/etc/passwd","scheme":"http","scheme":"file"}]`, `[{"scheme":"vscode-file","authority":"vscode-app","path":"/etc/passwd"}]`,
		`[{"scheme":"untitled","path":"/etc/passwd"}]`, `[{"scheme":"untitled","path":"a","path":"/etc/passwd"}]`, `[{"scheme":"untitled","path":"../a"}]`, `[{"scheme":"http","path":"/a","path":"/b","fsPath":"/etc/passwd"}]`, `[{"scheme":"http","fsPath":"/etc/passwd"}]`, `[{"scheme":"http","path":"/index.html","fsPath":"/etc/passwd"}]`, `[{"path":"/etc/passwd"}]`,
		// Patterns.
		`["/*/passwd"]`, `["/[e]tc/passwd"]`, `["/etc/**"]`, `["/{etc,x}/passwd"]`,
	} {
		if err := refused(t, r, "any/thing", true, params); err == nil {
			t.Errorf("%s is let through", params)
		}
	}
	for params, method := range map[string]string{
		`["/"]`: "fs/readDirectory", `["a.txt"]`: "fs/readFile", `["` + top + `/ws/a","b"]`: "fs/rename", `{"from":"x"}`: "fs/copy", `"/etc/passwd"`: "workspace.fs.stat",
		`[{"scheme":"file","authority":"server","path":"` + top + `/ws/a.txt"}]`: "any", `["` + top + `/ws/a","/etc/x"]`: "fileSystem.write.copy", `[{"scheme":"http","path":"/etc/passwd"}]`: "any",
	} {
		if err := refused(t, r, method, false, params); err == nil {
			t.Errorf("%s %s is let through", method, params)
		}
	}
}

// What only MessagePack can say.
func TestMessagePackParamsThatLeadOut(t *testing.T) {
	_, r := tree(t)
	path := "/etc/passwd"
	for name, raw := range map[string][]byte{
		"bytes":        mpack.AppendBin(mpack.AppendArray(nil, 1), []byte(path)),
		"key of bytes": mpack.AppendNil(mpack.AppendBin(mpack.AppendMap(nil, 1), []byte(path))),
		"in a key":     mpack.AppendNil(mpack.AppendString(mpack.AppendArray(mpack.AppendMap(nil, 1), 1), path)),
		"twice":        mpack.AppendNil(mpack.AppendString(mpack.AppendString(mpack.AppendString(mpack.AppendMap(nil, 2), "path"), path), "path")),
		"no UTF-8":     mpack.AppendString(mpack.AppendArray(nil, 1), "/ws/\xff"),
		"not a text":   mpack.AppendBin(mpack.AppendArray(nil, 1), []byte("/\xed\xb2\x80")),
	} {
		c := r.CheckParams("any", false)
		if err := (mpack.Encoding{}).Walk(raw, c); err != nil || c.Err() == nil {
			t.Errorf("%s: %v, %v", name, err, c.Err())
		}
	}
	for _, text := range []string{`["\/etc\/passwd"]`, `["\u002fetc/passwd"]`, `{"\u0070ath":"x"}`, `["/ws/\ud800"]`} {
		c := r.CheckParams("any", false)
		if err := (jsonrpc.Encoding{}).Walk([]byte(text), c); err != nil || c.Err() == nil {
			t.Errorf("%s: %v, %v", text, err, c.Err())
		}
	}
}

func TestParamsThatAreFine(t *testing.T) {
	top, r := tree(t)
	for _, path := range []string{top + "/ws", top + "/ws/a.txt", top + "/alias/a.txt", top + "/ws/with space é.txt", top + "/ws/not/yet", top + "/ws/in/b.txt", top + "/ws/100%done", top + "/ws/a%20b", top + "/ws/c#", top + `/ws/back\slash`} {
		escaped := (&url.URL{Path: path}).EscapedPath()
		for _, text := range []string{path, "file://" + escaped, "FILE:" + escaped, "file://localhost" + escaped, "vscode-file://vscode-app" + escaped, "untitled:" + escaped} {
			for _, shape := range shapes {
				if strings.Contains(shape, `"@"`) || strings.Contains(shape, "fsPath") && !strings.HasPrefix(text, "/") {
					continue
				}
				params := strings.Replace(shape, "%s", quote(text), 1)
				if err := refused(t, r, "any/thing", false, params); err != nil {
					t.Errorf("%s: %v", params, err)
				}
			}
		}
	}
	for _, text := range []string{
		"", "a", "/", "//", "hello", "and/or", "a/b", "1/2", "main.go", "./a", "..", "...", "a..b", "HEAD~1..HEAD", "~", "~5/day", "// a comment", "/* a comment */", "/** more of it */", "/*", "/**", "/^a b$/g",
		"/* one */\nimport x from '/etc/passwd'\n", "/node_modules\n/dist\n", "file: not found", "File:\n  a.txt", "Error: ENOENT: no such file or directory, open '/etc/passwd'", "see file:///etc/passwd",
		"[link](file:///etc/passwd)", "http://example.org/etc/passwd", "https://example.org/a/../b", "untitled:one", "untitled:Untitled-1", "data:text/plain,/etc/passwd", "mailto:a@b", "command:x", "12:30", "a:b", "C:", "C: /x",
		`\d+\s`, `\\hline`, `\\ new line`, "x = a ? b : c", "{\"path\":\"/etc/passwd\"}", "*.go", "**/*.go", "#/definitions/x", "@scope/name", "$/progress", "été", "key=/etc/passwd", strings.Repeat("/a", 5000), strings.Repeat("word ", 100000),
		"jdt://contents/rt.jar/java/Object.class", "git: fatal", "error: file:main.go",
	} {
		for _, shape := range []string{`%s`, `[%s]`, `{"any":%s}`, `[[{"a":%s}]]`, `{%s:1}`, `{"message":%s}`, `{"newText":%s}`, `{"contents":{"kind":"markdown","value":%s}}`} {
			params := strings.Replace(shape, "%s", quote(text), 1)
			if err := refused(t, r, "any/thing", true, params); err != nil {
				t.Errorf("%.200s: %v", params, err)
			}
		}
	}
	in := quote(top + "/ws/a.txt")
	for params, method := range map[string]string{
		`{"message":"/etc/hosts is missing"}`: "window/showMessageRequest", `["/etc/hosts is missing","file:///etc/hosts changed"]`: "window.showInformationMessage", `{"text":"/etc/passwd"}`: "any",
		`[` + in + `,"/usr/bin/env node"]`: "fs/writeFile", `[{"scheme":"http","authority":"x","path":"/index.html"}]`: "any", `[{"$mid":1,"fsPath":"/a","external":"http://x/a","path":"/a","scheme":"http"}]`: "any",
		`[{"scheme":"untitled","path":"Untitled-1"}]`: "any", `{"source":"eslint","to":"you","target":"es2022"}`: "any", `[{"language":"go","scheme":"file"}]`: "any", `{"uri":"untitled:one"}`: "any",
		`[3,[{"language":"css"}],[".","/"],true]`: "MainThreadLanguageFeatures.$registerCompletionsProvider",
		`[1,"js",{"comments":{"lineComment":"//","blockComment":["/*","*/"]},"autoClosingPairs":[{"open":"/**","close":" */"}]}]`: "MainThreadLanguageFeatures.$setLanguageConfiguration",
		`{"edit":{"changes":{` + in + `:[{"range":{},"newText":"/usr/bin/env\n"}]}}}`:                                             "workspace/applyEdit",
	} {
		if err := refused(t, r, method, true, params); err != nil {
			t.Errorf("%s %s: %v", method, params, err)
		}
	}
}

func TestParamsSayWhere(t *testing.T) {
	_, r := tree(t)
	for params, want := range map[string]string{
		`["/etc/passwd"]`: "[0]: path is outside of the workspace",
		`{"edit":{"changes":{"file:///etc/passwd":[]}}}`: `a name in "edit"."changes": path is outside of the workspace`,
		`{"items":[{},{"scopeUri":"file:///etc"}]}`:      `"items"[1]."scopeuri": path is outside of the workspace`,
		`"/etc/passwd"`:    "the parameters: path is outside of the workspace",
		`{"path":"a.txt"}`: `"path": not a path of a file: not absolute`,
	} {
		if err := refused(t, r, "any", false, params); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", params, err, want)
		}
	}
}

// One request cannot have the supervisor look up names without end.
func TestParamsAreBounded(t *testing.T) {
	top, r := tree(t)
	c := r.CheckParams("any", false)
	c.Open(false)
	for range 2 * maxSteps / 4000 {
		c.Text([]byte(top + "/ws" + strings.Repeat("/.", 4000) + "/a.txt"))
	}
	c.Close()
	if !errors.Is(c.Err(), errSteps) {
		t.Errorf("%v", c.Err())
	}
	if err := r.Check("/" + strings.Repeat("a/", 1<<20)); !errors.Is(err, ErrNotPath) {
		t.Errorf("%v", err)
	}
	if err := r.Check(top + "/ws/%" + strings.Repeat("25", 100) + "41"); !errors.Is(err, ErrNotPath) {
		t.Errorf("%v", err)
	}
}
