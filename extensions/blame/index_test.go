package blame

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/extensions"
)

var index = NewIndex([]extensions.Extension{
	{ID: "a.one", Folder: "/ext/one"}, {ID: "a.inner", Folder: "/ext/one/inner/"}, {ID: "a.space", Folder: "/ext/with space"},
	{ID: "a.win", Folder: `C:\Ext\Win`}, {ID: "a.none"},
})

func TestIndex(t *testing.T) {
	for name, want := range map[string]extensions.ID{
		"/ext/one/main.js": "a.one", "/ext/one": "a.one", "/ext/one/inner/x.js": "a.inner", "/ext/onetwo/main.js": "", "/ext/one/innermost/and/some/more": "a.one",
		"file:///ext/with%20space/m.js": "a.space", `c:\Ext\Win\m.js`: "a.win", "file:///C:/Ext/Win/m.js": "a.win", "": "", "node:internal/x": "", "/": "",
	} {
		if got, ok := index.File(name); got != want || ok != (want != "") {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for stack, want := range map[string]extensions.ID{
		"TypeError: x at /ext/one/y.js\n    at foo (node:internal/timers:5:7)\n    at Object.run (/ext/one/inner/b.js:10:5)\n    at /ext/one/a.js:1:1": "a.inner",
		"Error\n    at async file:///ext/with%20space/m.js:3:4": "a.space",
		"Error\n    at new Foo (C:\\Ext\\Win\\out\\m.js:1:2)":   "a.win",
		"Error: at /ext/one/a.js:1:1":                           "",
		"":                                                      "",
	} {
		if got, _ := index.Stack(stack); got != want {
			t.Errorf("%s\n%q, want %q", stack, got, want)
		}
	}
}

func TestShares(t *testing.T) {
	got, err := index.Shares([]byte(`{"nodes":[
		{"id":1,"callFrame":{"functionName":"(root)","url":""},"children":[2,5]},
		{"id":2,"callFrame":{"functionName":"spin","url":"file:///ext/one/m.js"},"children":[3]},
		{"id":3,"callFrame":{"functionName":"stringify","url":""},"children":[]},
		{"id":4,"callFrame":{"functionName":"x","url":"/ext/one/inner/m.js"}},
		{"id":5,"callFrame":{"functionName":"(idle)","url":""},"children":[4,5]}],
		"samples":[3,2,5,4,99],"timeDeltas":[500,200,100,150,50]}`))
	if err != nil || len(got) != 2 || got[0] != (Share{"a.one", 0.7}) || got[1] != (Share{"a.inner", 0.15}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{`{}`, `{"samples":[1],"timeDeltas":[-1]}`} {
		if got, err := index.Shares([]byte(text)); err != nil || len(got) > 0 {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if _, err := index.Shares([]byte(`[`)); err == nil {
		t.Error("an invalid profile is accepted")
	}
}

// The data of a runtime is untrusted; each of these inputs took hours once.
func TestParsingTakesLinearTime(t *testing.T) {
	var b strings.Builder
	const nodes = 200_000
	b.WriteString(`{"nodes":[{"id":0,"callFrame":{"url":"/ext/one/m.js"},"children":[1]}`)
	for i := 1; i < nodes; i++ {
		fmt.Fprintf(&b, `,{"id":%d,"children":[%d]}`, i, i+1)
	}
	fmt.Fprintf(&b, `,{"id":-1,"children":[-2]},{"id":-2,"children":[-1]}],"samples":[-1`)
	for i := range 1_000_000 {
		fmt.Fprintf(&b, `,%d`, nodes-i%2)
	}
	b.WriteString(`]}`)
	if got, err := index.Shares([]byte(b.String())); err != nil || len(got) != 1 || got[0].ID != "a.one" || got[0].Share < 0.99 {
		t.Errorf("%v, %v", got, err)
	}
	deep := strings.Repeat("/", 10<<20)
	if id, ok := index.File(deep); ok {
		t.Error(id)
	}
	if id, ok := index.File("/ext/one" + deep); !ok || id != "a.one" {
		t.Error(id)
	}
	if id, ok := index.Stack("Error\n    at f (" + deep + ":1:1)\n    at g (/ext/one" + deep + "m.js:1:1)"); !ok || id != "a.one" {
		t.Error(id)
	}
}

func FuzzStack(f *testing.F) {
	f.Add("Error\n    at run (/ext/one/m.js:1:2)\n", []byte(`{"nodes":[{"id":1,"children":[1]}],"samples":[1]}`))
	f.Fuzz(func(t *testing.T, stack string, cpu []byte) {
		index.Stack(stack)
		shares, err := index.Shares(cpu)
		if err != nil {
			return
		}
		sum := 0.0
		for _, s := range shares {
			sum += s.Share
		}
		if sum > 1.001 {
			t.Fatalf("%v", shares)
		}
	})
}

// The frames of an abort are numbered, and those of node and of the editor are passed over.
func TestAbortNamesItsExtensions(t *testing.T) {
	x := NewIndex([]extensions.Extension{{ID: "acme.bad", Folder: "/ext/bad"}, {ID: "acme.api", Folder: "/ext/api"}})
	before := []string{"1: 0xf5b5a4 node::Abort() [node]", abortStack, "", "1: old (/ext/api/old.js:1:2)", "", ""}
	for _, c := range []struct {
		name  string
		lines []string
		want  []Share
	}{
		{"one", []string{abortStack, "", "1: abort (node:internal/process:2:3)", "2: run (/ext/bad/main.js:9:23)", "3: file:///ext/bad/other.js:1:2", "4: listOnTimeout (node:internal/timers:581:17)", ""}, []Share{{"acme.bad", 1}}},
		{"a caller", []string{abortStack, "", "1: /ext/api/main.js:7:1", "2: tick (/ext/bad/main.js:9:23)"}, []Share{{"acme.api", 1}, {"acme.bad", 0.5}}},
		{"after it", []string{abortStack, "1: run (/ext/bad/main.js:9:23)", "", "2: later (/ext/api/main.js:9:23)"}, []Share{{"acme.bad", 1}}},
		{"no extension", []string{abortStack, "1: run (/app/main.js:9:23)"}, nil},
		{"no frames", []string{abortStack}, nil},
		{"no stack", []string{"1: run (/ext/bad/main.js:9:23)"}, nil},
	} {
		for _, lines := range [][]string{c.lines, slices.Concat(before, c.lines)} {
			if got := x.Aborted(lines); !slices.Equal(got, c.want) && (c.name != "no stack" || len(lines) == len(c.lines)) {
				t.Errorf("%s: %v, %v expected", c.name, got, c.want)
			}
		}
	}
}

// The stack of a call that blocks, as the extension host of VS Code prints it, leads to the extension that
// made the call, and less to the one that called that.
func TestBlockingCallNamesItsExtensions(t *testing.T) {
	x := NewIndex([]extensions.Extension{{ID: "acme.bad", Folder: "/ext/bad"}, {ID: "acme.api", Folder: "/ext/api"}})
	const node = "Error: \n\tat Object.spawnSync (node:internal/child_process:1109:29)\n\tat execSync (node:child_process:958:15)"
	for stack, want := range map[string][]Share{
		node + "\n\tat runs (/ext/bad/main.js:3:4)\n\tat each (/ext/api/main.js:5:6)\n\tat listOnTimeout (node:internal/timers:581:17)": {{"acme.bad", 1}, {"acme.api", 0.5}},
		node + "\n\tat runs (/ext/bad/main.js:3:4)\n\tat each (/ext/api/main.js:5:6)\n\tat tick (/ext/bad/main.js:1:2)":                 {{"acme.bad", 1}},
		node: nil,
		"":   nil,
	} {
		if got := x.Calling(stack); !slices.Equal(got, want) {
			t.Errorf("%v, %v expected, of %q", got, want, stack)
		}
	}
}

// A crash of native code leads to the extensions that have some, unless they are many.
func TestNativeCodeNamesItsExtensions(t *testing.T) {
	var list []extensions.Extension
	var files []string
	for _, name := range []string{"a", "b", "c", "d"} {
		list = append(list, extensions.Extension{ID: extensions.ID("acme." + name), Folder: "/ext/" + name})
		files = append(files, "/ext/"+name+"/build/one.node", "/app/host.node", "/ext/"+name+"/build/two.node")
	}
	x := NewIndex(list)
	for n, want := range [][]Share{nil, {{"acme.a", 0.5}}, {{"acme.a", 0.5}, {"acme.b", 0.5}}, {{"acme.a", 0.5}, {"acme.b", 0.5}, {"acme.c", 0.5}}, nil} {
		if got := x.Native(files[:3*n]); !slices.Equal(got, want) {
			t.Errorf("%d extensions: %v, %v expected", n, got, want)
		}
	}
	if got := x.Native(files[1:2]); got != nil {
		t.Errorf("native code of the host: %v", got)
	}
	if Aborting([]string{"1: 0xf5b5a4 node::Abort() [node]"}) || !Aborting([]string{"", abortStack, "1: f (/ext/a/main.js:1:2)"}) {
		t.Error("a printed stack is not recognized")
	}
}
