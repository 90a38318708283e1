package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// tree is the source of the project, as far as the documentation names parts of it.
type tree struct {
	root       string
	folders    map[string]*folder // of Go files, by path from the root
	top        []string           // what is in the root
	makefile   []byte
	testScript []byte
}

// folder is a folder with Go files, those of all systems and its tests.
type folder struct {
	path    string
	name    string // of the package
	tests   []string
	names   map[string]bool            // declared in the package
	members map[string]map[string]bool // methods, fields and embedded types, by type
	source  []byte
}

// readTree reads the source once.
func readTree(t *testing.T) *tree {
	t.Helper()
	tr, err := theTree()
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

var theTree = sync.OnceValues(func() (*tree, error) {
	tr := &tree{root: "../..", folders: map[string]*folder{}}
	err := filepath.WalkDir(tr.root, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (len(d.Name()) > 2 && d.Name()[0] == '.' || d.Name() == "testdata" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(at, ".go"):
			return nil
		}
		return tr.add(at)
	})
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(tr.root)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		tr.top = append(tr.top, e.Name())
	}
	if tr.makefile, err = os.ReadFile(filepath.Join(tr.root, "Makefile")); err != nil {
		return nil, err
	}
	tr.testScript, err = os.ReadFile(filepath.Join(tr.root, "test"))
	return tr, err
})

func (tr *tree) add(at string) error {
	source, err := os.ReadFile(at)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), at, source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(tr.root, filepath.Dir(at))
	if err != nil {
		return err
	}
	rel = filepath.ToSlash(rel)
	f := tr.folders[rel]
	if f == nil {
		f = &folder{path: rel, names: map[string]bool{}, members: map[string]map[string]bool{}}
		tr.folders[rel] = f
	}
	if name := file.Name.Name; !strings.HasSuffix(name, "_test") {
		f.name = name
	}
	f.source = append(f.source, source...)
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			f.function(d, strings.HasSuffix(at, "_test.go"))
		case *ast.GenDecl:
			for _, s := range d.Specs {
				f.spec(s)
			}
		}
	}
	return nil
}

func (f *folder) function(d *ast.FuncDecl, test bool) {
	if d.Recv == nil {
		f.names[d.Name.Name] = true
		if test && regexp.MustCompile(`^(Test|Benchmark|Fuzz|Example)`).MatchString(d.Name.Name) {
			f.tests = append(f.tests, d.Name.Name)
		}
		return
	}
	f.member(typeName(d.Recv.List[0].Type), d.Name.Name)
}

func (f *folder) spec(s ast.Spec) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			f.names[n.Name] = true
		}
	case *ast.TypeSpec:
		f.names[s.Name.Name] = true
		f.member(s.Name.Name, "")
		var fields *ast.FieldList
		switch u := s.Type.(type) {
		case *ast.StructType:
			fields = u.Fields
		case *ast.InterfaceType:
			fields = u.Methods
		default: // an alias or a type of another one: it has what that has
			f.member(s.Name.Name, "*"+typeName(u))
			return
		}
		for _, field := range fields.List {
			for _, n := range field.Names {
				f.member(s.Name.Name, n.Name)
			}
			if len(field.Names) == 0 {
				f.member(s.Name.Name, "*"+typeName(field.Type))
				f.member(s.Name.Name, typeName(field.Type))
			}
		}
	}
}

func (f *folder) member(of, name string) {
	if f.members[of] == nil {
		f.members[of] = map[string]bool{}
	}
	f.members[of][name] = true
}

// typeName returns the name of a type without its package and its parameters.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	}
	return ""
}

// match returns the folders of a pattern of packages, such as sandbox/... or config.
func (tr *tree) match(pattern string) []*folder {
	var out []*folder
	below, all := strings.CutSuffix(pattern, "...")
	for _, at := range slices.Sorted(maps.Keys(tr.folders)) {
		if at == path.Clean(pattern) || all && (below == "" || at == strings.TrimSuffix(below, "/") || strings.HasPrefix(at, below)) {
			out = append(out, tr.folders[at])
		}
	}
	return out
}

// packages returns the folders of the packages with a name.
func (tr *tree) packages(name string) []*folder {
	var out []*folder
	for _, at := range slices.Sorted(maps.Keys(tr.folders)) {
		if tr.folders[at].name == name {
			out = append(out, tr.folders[at])
		}
	}
	return out
}

// has reports whether a type anywhere in the tree has a member, also by what it embeds.
func (tr *tree) has(of, member string, depth int) bool {
	for _, f := range tr.folders {
		members, ok := f.members[of]
		if !ok {
			continue
		}
		if members[member] {
			return true
		}
		for m := range members {
			if embedded, ok := strings.CutPrefix(m, "*"); ok && depth < 4 && tr.has(embedded, member, depth+1) {
				return true
			}
		}
	}
	return false
}

// isType reports whether some package declares a type of this name.
func (tr *tree) isType(name string) bool {
	for _, f := range tr.folders {
		if f.members[name] != nil {
			return true
		}
	}
	return false
}
