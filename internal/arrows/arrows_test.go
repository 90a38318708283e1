package arrows

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const (
	module  = "github.com/hostsup/hostsup/"
	drawing = "../../docs/architecture.md"
)

// systems are those whose builds the drawing is about.
var systems = []string{"linux", "darwin", "windows"}

// pure are the packages that decide, and do nothing.
var pure = []string{
	"lifecycle", "link/pending", "sandbox/policy", "extensions/activation", "extensions/blame", "extensions/location", "codec/vscode/persistent",
}

// system are packages that touch the system. Packages below one of them count too.
var system = []string{"os", "net", "syscall", "golang.org/x/sys", module + "internal/sys"}

// drawn reads the arrows. order has the packages from the top down.
func drawn(t *testing.T) (arrows map[string][]string, order []string) {
	t.Helper()
	b, err := os.ReadFile(drawing)
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(b), "\n## The arrows\n")
	if ok {
		_, text, ok = strings.Cut(text, "\n```\n")
	}
	if !ok {
		t.Fatalf("%s draws no arrows", drawing)
	}
	text, _, _ = strings.Cut(text, "```")
	arrows = make(map[string][]string)
	for line := range strings.Lines(text) {
		from, to, ok := strings.Cut(line, "→")
		if !ok {
			from, to = order[len(order)-1], line // the rest of the line above
		} else if from = strings.TrimSpace(from); arrows[from] == nil {
			order = append(order, from)
		} else {
			t.Errorf("%s is drawn twice", from)
		}
		arrows[from] = append(arrows[from], strings.Fields(to)...)
	}
	return arrows, order
}

// pkg is what go list knows of a package.
type pkg struct {
	ImportPath string
	GoFiles    []string
	Imports    []string // without those of tests
	Deps       []string // also through others
}

// list returns the packages of this module as they are built for a system.
func list(t *testing.T, goos string) map[string]pkg {
	t.Helper()
	present := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/asynkron/protoactor-go")
	present.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=", "GOWORK=off")
	if out, err := present.Output(); err != nil || len(bytes.TrimSpace(out)) == 0 {
		t.Skip("Go, or what this module needs, is not here for this user")
	}
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,GoFiles,Imports,Deps", "./...")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	pkgs := make(map[string]pkg)
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); err == io.EOF {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		if name, ours := strings.CutPrefix(p.ImportPath, module); ours && len(p.GoFiles) > 0 {
			pkgs[name] = p
		}
	}
}

// ours are the packages of this module among others.
func ours(paths []string) []string {
	var out []string
	for _, p := range paths {
		if name, ok := strings.CutPrefix(p, module); ok {
			out = append(out, name)
		}
	}
	return out
}

// apart says whether a package is not drawn.
func apart(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return first == "examples" || first == "integration" || name == "internal/arrows"
}

// touches says whether an import touches the system. net/url and net/netip only take
// text apart.
func touches(path string) bool {
	return path != "net/url" && path != "net/netip" && slices.ContainsFunc(system, func(s string) bool { return path == s || strings.HasPrefix(path, s+"/") })
}

// reach is all that a package reaches by arrows.
func reach(arrows map[string][]string, from string, seen map[string]bool) map[string]bool {
	for _, to := range arrows[from] {
		if !seen[to] {
			seen[to] = true
			reach(arrows, to, seen)
		}
	}
	return seen
}

func TestArrows(t *testing.T) {
	arrows, order := drawn(t)
	for i, from := range order {
		for _, to := range arrows[from] {
			if slices.Index(order, to) <= i {
				t.Errorf("the arrow %s → %s does not lead down", from, to)
			}
		}
	}
	used := make(map[string]map[string]bool)
	for _, goos := range systems {
		pkgs := list(t, goos)
		if len(pkgs) < 50 {
			t.Fatalf("%s: only %d packages", goos, len(pkgs))
		}
		for name, p := range pkgs {
			if apart(name) {
				continue
			}
			if arrows[name] == nil && !slices.Contains(order, name) {
				t.Errorf("%s is not drawn", name)
				continue
			}
			if used[name] == nil {
				used[name] = make(map[string]bool)
			}
			for _, to := range ours(p.Imports) {
				used[name][to] = true
				if !slices.Contains(arrows[name], to) {
					t.Errorf("%s: the arrow %s → %s is not drawn", goos, name, to)
				}
			}
			may := reach(arrows, name, make(map[string]bool))
			for _, to := range ours(p.Deps) {
				if !may[to] {
					t.Errorf("%s: %s imports %s through others, which the arrows do not allow", goos, name, to)
				}
			}
		}
	}
	for _, from := range order {
		if used[from] == nil {
			t.Errorf("%s is drawn, and there is none", from)
		}
		for _, to := range arrows[from] {
			if !used[from][to] {
				t.Errorf("the arrow %s → %s is drawn, and nothing imports so", from, to)
			}
		}
	}
}

// TestPure holds that what decides touches no system. The standard library's own
// imports do not count: fmt can print.
func TestPure(t *testing.T) {
	for _, goos := range systems {
		pkgs := list(t, goos)
		for _, name := range pure {
			p, ok := pkgs[name]
			if !ok {
				t.Errorf("there is no %s", name)
			}
			for _, via := range append(ours(p.Deps), name) {
				for _, path := range pkgs[via].Imports {
					if touches(path) {
						t.Errorf("%s: %s imports %s by way of %s", goos, name, path, via)
					}
				}
			}
		}
	}
}
