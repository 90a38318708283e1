package arrows

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// injected are the packages that take clock, timers and goroutines from link.Env.
var injected = []string{"link", "link/pending", "lifecycle", "actors", "internal/osprocess", "internal/transport", "lifecycle/record"}

// clocks are what link.Env stands for, by package: all functions of context that have
// a timer or a goroutine, and of time that read a clock.
var clocks = map[string][]string{
	"time":    {"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep"},
	"context": {"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause", "AfterFunc"},
	"runtime": {"Gosched"},
}

// allowed are the exceptions, by file and what it uses, with the reason.
var allowed = map[string]string{
	"link/env.go: time.Now":                      "it is where the real clock is",
	"link/env.go: time.Since":                    "it is where the real clock is",
	"link/env.go: time.AfterFunc":                "it is where the real clock is",
	"link/env.go: go":                            "it is where goroutines come from",
	"link/outbox.go: runtime.Gosched":            "lets others add to a write; no order follows from it",
	"link/incoming.go: runtime.Gosched":          "lets quick handlers answer within the write of the acknowledgements; likewise",
	"internal/transport/rendezvous.go: time.Now": "the kernel's deadline of a read from a socket",
	"internal/transport/rendezvous.go: Go":       "waits for connections of a real socket, which a simulation has none of",
	"actors/wait.go: context.AfterFunc":          "joins two contexts of callers; nothing of the tree waits for it",
}

// TestClock holds that what is to run in a simulation takes time and goroutines from
// link.Env.
func TestClock(t *testing.T) {
	used := make(map[string]bool)
	for _, dir := range injected {
		files, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				what := clockOf(n)
				if what == "" {
					return true
				}
				key := dir + "/" + filepath.Base(path) + ": " + what
				used[key] = true
				if allowed[key] == "" {
					t.Errorf("%s: %s does not come from link.Env", set.Position(n.Pos()), what)
				}
				return true
			})
		}
	}
	for key := range allowed {
		if !used[key] {
			t.Errorf("%s is allowed, and is not there", key)
		}
	}
}

// clockOf returns what a node uses of clocks and goroutines, or "". The method Go of
// a WaitGroup counts; that of an Env goes by the names of what has it.
func clockOf(n ast.Node) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "go"
	case *ast.CallExpr:
		sel, ok := n.Fun.(*ast.SelectorExpr)
		if !ok {
			return ""
		}
		x := exprText(sel.X)
		for _, name := range clocks[x] {
			if sel.Sel.Name == name {
				return x + "." + name
			}
		}
		if sel.Sel.Name == "Go" && !strings.HasSuffix(strings.ToLower(strings.TrimSuffix(x, "()")), "env") {
			return "Go"
		}
	}
	return ""
}

// exprText is an operand as it is written, so far as it is names and calls without
// arguments.
func exprText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return exprText(e.X) + "." + e.Sel.Name
	case *ast.CallExpr:
		return exprText(e.Fun) + "()"
	}
	return ""
}
