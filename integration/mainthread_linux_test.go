//go:build linux

package integration

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec/vscode"
)

// The list of main-thread methods is that of the two releases: the methods of the classes of
// their editors, by the object that each is registered for.
func TestMainThreadMethods(t *testing.T) {
	t.Parallel()
	found := map[string][]string{}
	for _, version := range slices.Sorted(maps.Keys(releases)) {
		out := filepath.Join(releases[version].root, "out", "vs")
		editor, host := bundle(t, out, "code/browser/workbench/workbench.js"), bundle(t, out, "workbench/api/node/extensionHostProcess.js")
		known := map[string]bool{}
		for _, name := range mainThreadMethods(t, version, editor, host) {
			found[name] = append(found[name], version)
			_, method, _ := strings.Cut(name, ".")
			known[method] = true
		}
		// What the host calls is a method of the editor, or of its own.
		for _, call := range regexp.MustCompile(`[.?](\$[a-z]\w+)\(`).FindAllStringSubmatch(host, -1) {
			if !known[call[1]] && !strings.Contains(host, "async "+call[1]+"(") && !regexp.MustCompile(`[};{,*]`+regexp.QuoteMeta(call[1])+`\(`).MatchString(host) {
				t.Errorf("%s: the host calls %s, which no class has", version, call[1])
			}
		}
	}
	listed := map[string]string{}
	for m := range vscode.MainThreadMethods() {
		listed[m.Name] = m.Releases
	}
	for name, in := range found {
		want := in[0]
		if len(in) == len(releases) {
			want = "both"
		}
		if listed[name] != want {
			t.Errorf("%s is in %s, and listed for %q", name, want, listed[name])
		}
	}
	for name, in := range listed {
		if found[name] == nil {
			t.Errorf("%s is listed for %s, and not there", name, in)
		}
	}
}

func bundle(t *testing.T, parts ...string) string {
	t.Helper()
	path := filepath.Join(parts...)
	if _, err := os.Stat(path); err != nil {
		peer(t, path) // no program, but it is missing the same way
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	objects = regexp.MustCompile(`[{,](MainThread\w+):[\w$]+\("`)
	// CLASS=decorate([customer(names.MainThreadX),…],CLASS)
	decorated = regexp.MustCompile(`[\w$]+=[\w$]+\(\[([^\]]*?)\],([\w$]+)\)`)
	customer  = regexp.MustCompile(`[\w$]+\([\w$]+\.(MainThread\w+)\)`)
	method    = regexp.MustCompile(`(?:[};{*]|async )(\$\w+)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\{`)
)

// mainThreadMethods returns the full names of the methods of an editor's main-thread objects.
func mainThreadMethods(t *testing.T, version, editor, host string) (names []string) {
	t.Helper()
	classes := map[string]string{} // by object: the text of its class
	for _, m := range decorated.FindAllStringSubmatchIndex(editor, -1) {
		if c := customer.FindStringSubmatch(editor[m[2]:m[3]]); c != nil {
			classes[c[1]] = classBody(editor, editor[m[4]:m[5]], m[0])
		}
	}
	seen := map[string]bool{}
	for _, m := range objects.FindAllStringSubmatch(host, -1) {
		object := m[1]
		if seen[object] {
			continue
		}
		seen[object] = true
		body := classes[object]
		if body == "" {
			body = classBody(editor, assigned(editor, object), len(editor))
		}
		if body == "" {
			t.Errorf("%s: the class of %s is not found", version, object)
		}
		for _, m := range method.FindAllStringSubmatch(body, -1) {
			names = append(names, object+"."+m[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// assigned returns the class of an object that is registered by a call:
// this.x=factory.createInstance(CLASS,…), …, context.set(names.OBJECT,this.x).
func assigned(editor, object string) string {
	set := regexp.MustCompile(`\.set\([\w$]+\.` + object + `,(?:this\.)?([\w$]+)\)`).FindStringSubmatchIndex(editor)
	if set == nil {
		return ""
	}
	made := regexp.MustCompile(fmt.Sprintf(`[^\w$]%s=(?:this\.\w+(?:\.add)?\()*(?:[\w$]+\.createInstance\(|new )([\w$]+)`, regexp.QuoteMeta(editor[set[2]:set[3]])))
	list := made.FindAllStringSubmatch(editor[max(0, set[0]-3000):set[0]], -1)
	if list == nil {
		return ""
	}
	return list[len(list)-1][1]
}

// classBody returns the text of the last class of a name before an offset.
func classBody(editor, name string, before int) string {
	if name == "" {
		return ""
	}
	at := -1
	for _, head := range []string{name + "=class", "class " + name} {
		for from := 0; ; {
			i := strings.Index(editor[from:before], head)
			if i < 0 {
				break
			}
			i += from
			from = i + 1
			if i > at && !isWord(editor[i-1]) && !isWord(editor[i+len(head)]) {
				at = i
			}
		}
	}
	// Between the two there may be another name: let A=B=class{…}.
	if i := strings.LastIndex(editor[:before], ","+name+"="); at < 0 && i >= 0 {
		at = i
	}
	if at < 0 {
		return ""
	}
	start := strings.IndexByte(editor[at:], '{') + at
	depth := 0
	for i := start; i < len(editor); i++ {
		switch c := editor[i]; c {
		case '"', '\'', '`':
			for i++; i < len(editor) && editor[i] != c; i++ {
				if editor[i] == '\\' {
					i++
				}
			}
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return editor[start : i+1]
			}
		}
	}
	return ""
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
