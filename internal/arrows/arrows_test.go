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

// systems are the systems whose builds the drawing describes.
var systems = []string{"linux", "darwin", "windows"}

// pure are the packages that decide and must not touch the system.
var pure = []string{
	"lifecycle", "link/pending", "sandbox/policy", "extensions/activation", "extensions/blame", "extensions/location", "codec/vscode/persistent",
}

// system are packages that touch the system, with all packages below them.
var system = []string{"os", "net", "syscall", "golang.org/x/sys", module + "internal/sys"}

// drawn reads the arrows. order holds the packages from the top down.
func drawn(t *testing.T) (arrows map[string][]string, order []string) {
	t.Helper()
	b, err := os.ReadFile(drawing)
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(b), "\n## The arrows\n")
	if ok {
		_, text, ok = strings.Cut(text, "\n```text\n")
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

// pkg is a part of the output of go list about a package.
type pkg struct {
	ImportPath string
	GoFiles    []string
	Imports    []string // without those of tests
	Deps       []string // also transitive
}

// list returns the packages of this module as they are built for a system.
func list(t *testing.T, goos string) map[string]pkg {
	t.Helper()
	present := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/asynkron/protoactor-go")
	present.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=", "GOWORK=off")
	if out, err := present.Output(); err != nil || len(bytes.TrimSpace(out)) == 0 {
		t.Skip("this user has no Go, or not the modules that this module needs")
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

// ours returns the paths that belong to this module, relative to it.
func ours(paths []string) []string {
	var out []string
	for _, p := range paths {
		if name, ok := strings.CutPrefix(p, module); ok {
			out = append(out, name)
		}
	}
	return out
}

// isUndrawn reports whether the drawing leaves a package out.
func isUndrawn(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return first == "examples" || first == "integration" || first == "simulation" || name == "internal/arrows"
}

// touches reports whether an import touches the system. net/url and net/netip only
// parse text.
func touches(path string) bool {
	return path != "net/url" && path != "net/netip" && slices.ContainsFunc(system, func(s string) bool { return path == s || strings.HasPrefix(path, s+"/") })
}

// reach returns all packages that a package reaches by arrows.
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
			if isUndrawn(name) {
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
					t.Errorf("%s: %s imports %s transitively, which the arrows do not allow", goos, name, to)
				}
			}
		}
	}
	for _, from := range order {
		if used[from] == nil {
			t.Errorf("%s is drawn, but does not exist", from)
		}
		for _, to := range arrows[from] {
			if !used[from][to] {
				t.Errorf("the arrow %s → %s is drawn, but no build imports it", from, to)
			}
		}
	}
}

// TestPure holds that the packages that decide touch no system. The standard
// library's own imports do not count: fmt can print.
func TestPure(t *testing.T) {
	for _, goos := range systems {
		pkgs := list(t, goos)
		for _, name := range pure {
			p, ok := pkgs[name]
			if !ok {
				t.Errorf("%s does not exist", name)
			}
			for _, via := range append(ours(p.Deps), name) {
				for _, path := range pkgs[via].Imports {
					if touches(path) {
						t.Errorf("%s: %s imports %s through %s", goos, name, path, via)
					}
				}
			}
		}
	}
}
