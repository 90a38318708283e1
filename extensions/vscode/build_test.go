package vscode

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// bundle is as much of a host's program as matters here.
const bundle = `var x=class t{static{this.count=0}constructor(e){this.sid=e,this.nid=++t.count}},y=[];` +
	`function $M(e){let t=new x(e);return y[t.nid]=t,t}function a$M(e){}a$M("no");q.$M("no");` +
	`var Q={MainThreadCommands:$M("MainThreadCommands"),MainThreadExtensionService:$M("MainThreadExtensionService"),` +
	`MainThreadDialogs:$M("MainThreadDiaglogs")},oe={ExtHostCommands:$M("ExtHostCommands"),ExtHostConfiguration:$M("ExtHostConfiguration"),` +
	`ExtHostExtensionService:$M("ExtHostExtensionService"),ExtHostWorkspace:$M("ExtHostWorkspace")};more()`

var actors = []string{
	"MainThreadCommands", "MainThreadExtensionService", "MainThreadDialogs",
	"ExtHostCommands", "ExtHostConfiguration", "ExtHostExtensionService", "ExtHostWorkspace",
}

const product = `{"version":"1.2.3","commit":"c0ffee","quality":"stable","date":"2025-01-01","other":[1]}`

// fakeBuild is a folder with a build.
func fakeBuild(t testing.TB, product, bundle string) string {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(root, fileBundle)), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{fileProduct: product, fileBundle: bundle} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestReadBuild(t *testing.T) {
	root := fakeBuild(t, product, bundle)
	b, err := ReadBuild(root)
	if err != nil || b.Version != "1.2.3" || b.Commit != "c0ffee" || b.Quality != "stable" || b.Date != "2025-01-01" || b.Root != root || !slices.Equal(b.Actors, actors) {
		t.Fatalf("%+v, %v", b, err)
	}
	for i, name := range actors {
		if n, ok := b.Number(name); !ok || int(n) != i+1 {
			t.Errorf("%s: %d, %v", name, n, ok)
		}
		if got, ok := b.actors.Actor(uint8(i + 1)); !ok || got != name {
			t.Errorf("%d: %s, %v", i+1, got, ok)
		}
	}
	for _, n := range []uint8{0, 8, 255} {
		if name, ok := b.actors.Actor(n); ok {
			t.Errorf("%d: %s", n, name)
		}
	}
	// It is read again when it has changed, and only then.
	if again, err := ReadBuild(root); err != nil || again != b {
		t.Errorf("%p, %p, %v", again, b, err)
	}
	path := filepath.Join(root, fileProduct)
	if err := os.WriteFile(path, []byte(strings.Replace(product, "1.2.3", "1.2.4", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if again, err := ReadBuild(root); err != nil || again.Version != "1.2.4" {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestNoBuild(t *testing.T) {
	many := "{"
	for i := range 256 {
		many += fmt.Sprintf(`A%d:$M("A%d"),`, i, i)
	}
	for name, tc := range map[string]struct{ product, bundle, want string }{
		"no product":       {"", bundle, "product.json: there is no such file"},
		"no bundle":        {product, "", "extensionHostProcess.js: there is no such file"},
		"no JSON":          {"{", bundle, "product.json: unexpected end"},
		"no version":       {`{"commit":"1"}`, bundle, `product.json: a "version" expected`},
		"no actors":        {product, "hello", `extensionHostProcess.js (version 1.2.3): the actor ExtHostCommands:f("ExtHostCommands") expected`},
		"no function":      {product, `("ExtHostCommands")`, "the actor ExtHostCommands:f"},
		"no counter":       {product, strings.Replace(bundle, "++", "--", 1), "the counter of its actors, .nid=++…, is not there"},
		"other order":      {product, strings.Replace(bundle, `},oe={`, `},z={a:1},oe={`, 1), `between the actors MainThreadDialogs and ExtHostCommands`},
		"one is elsewhere": {product, bundle + `;$M("Late")`, `the actor NAME:$M("NAME") expected`},
		"no member":        {product, strings.Replace(bundle, `MainThreadDialogs:`, ``, 1), `the actor NAME:$M("NAME") expected`},
		"with an argument": {product, strings.Replace(bundle, `("MainThreadDiaglogs")`, `("MainThreadDiaglogs",1)`, 1), `the actor NAME:$M("NAME") expected`},
		"cut":              {product, bundle[:strings.Index(bundle, `"ExtHostConf`)+5], `expected`},
		"one is missing":   {product, strings.Replace(bundle, `,ExtHostWorkspace:$M("ExtHostWorkspace")`, "", 1), "no actor ExtHostWorkspace among 6"},
		"twice":            {product, strings.Replace(bundle, `MainThreadDialogs:`, `MainThreadCommands:`, 1), "an actor is there twice"},
		"too many":         {product, strings.Replace(bundle, "{ExtHostCommands", many+"ExtHostCommands", 1), "263 actors, but a number of one byte"},
	} {
		t.Run(name, func(t *testing.T) {
			root := fakeBuild(t, tc.product, tc.bundle)
			if _, err := ReadBuild(root); !errors.Is(err, ErrBuild) || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), root) {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := ReadBuild(t.TempDir() + "/none"); !errors.Is(err, ErrBuild) {
		t.Error(err)
	}
	root := fakeBuild(t, product, bundle)
	if err := os.Remove(filepath.Join(root, fileProduct)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, fileProduct), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadBuild(root); !errors.Is(err, ErrBuild) || !strings.Contains(err.Error(), "a file of at most 64 MiB expected") {
		t.Error(err)
	}
}

func TestRoot(t *testing.T) {
	for _, tc := range []struct {
		command []string
		root    string
		ok      bool
	}{
		{[]string{"node", "--max-old-space-size=1", "/a/b/out/bootstrap-fork.js", "--type=extensionHost"}, "/a/b", true},
		{[]string{"node", "lib/out/bootstrap-fork.js"}, "lib", true},
		{[]string{"node", "bootstrap-fork.js"}, "", false},
		{nil, "", false},
	} {
		if root, ok := Root(tc.command); ok != tc.ok || filepath.ToSlash(root) != tc.root {
			t.Errorf("%q: %q, %v", tc.command, root, ok)
		}
	}
}

func FuzzFindActors(f *testing.F) {
	f.Add(bundle)
	f.Add(bundle[:400])
	f.Add(`{ExtHostCommands:f('ExtHostCommands')},f('`)
	f.Add(`ExtHostCommands:f('ExtHostCommands'),a:f('b:f(')'),.nid=++`)
	f.Fuzz(func(t *testing.T, text string) {
		names, err := findActors([]byte(text))
		if err == nil && (len(names) > 255 || !slices.Contains(names, anchor)) {
			t.Error(names)
		}
	})
}
