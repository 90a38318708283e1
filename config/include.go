package config

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// unit is one of the files that a configuration consists of. The first is the main one.
type unit struct {
	name string // as shown in diagnostics
	src  []byte
	body *hclsyntax.Body // nil when it could not be parsed
}

const wildcards = "*?["

const includeForm = `a path or a pattern such as "conf.d/*.hcl", or a list of them`

// included reads the files that an include argument of the main file names, in the order of
// the patterns, and those of a pattern by name. A file counts once, and the main one never.
func (r *reader) included(attr *hcl.Attribute, main, mainPath string) []unit {
	v, ok := r.evalStatic(attr.Expr, "include", "Files are included before variables have values, so include can only use functions and self.")
	if !ok {
		return nil
	}
	g := given{reader: r, name: "include", expr: attr.Expr, rng: attr.Expr.Range(), val: v}
	patterns := []given{g}
	if v.IsNull() || !v.Type().IsPrimitiveType() {
		if patterns, ok = g.elements(includeForm, ""); !ok {
			return nil
		}
	}
	var units []unit
	read := map[string]bool{mainPath: true}
	for _, p := range patterns {
		text := ""
		before := len(r.diags)
		pattern := path(&text, nil)
		pattern.read(p)
		if r.diags[before:].HasErrors() {
			continue
		}
		shown := filepath.Dir(p.val.AsString())
		if !filepath.IsAbs(shown) {
			shown = filepath.Join(filepath.Dir(main), shown)
		}
		if strings.ContainsAny(filepath.Dir(p.val.AsString()), wildcards) {
			p.bad("Only the name of the file may be a pattern, not that of a folder.")
			continue
		}
		if r.onFile != nil {
			r.onFile(text)
		}
		for _, name := range p.matches(text) {
			path := filepath.Join(filepath.Dir(text), name)
			if read[path] {
				continue
			}
			read[path] = true
			if u, ok := p.unit(filepath.Join(shown, name), path); ok {
				r.folders[u.name] = filepath.Dir(path)
				units = append(units, u)
			}
		}
	}
	return units
}

// matches returns the sorted names of the files that match a pattern, in its folder. As in
// a shell, * does not match names that begin with a dot.
func (g given) matches(pattern string) []string {
	dir, base := filepath.Split(pattern)
	if !strings.ContainsAny(base, wildcards) {
		return []string{base}
	}
	if _, err := filepath.Match(base, ""); err != nil {
		g.bad("%q is not a pattern: a bracket is not closed.", base)
		return nil
	}
	entries, err := os.ReadDir(dir)
	switch {
	case os.IsNotExist(err):
		g.warn(g.rng, "folder does not exist", "There is no %s (yet). Nothing is included from there.", filepath.Clean(dir))
	case err != nil:
		g.bad("%s cannot be read: %s", filepath.Clean(dir), sentence(err))
	}
	var names []string
	for _, e := range entries {
		hit, _ := filepath.Match(base, e.Name()) // the pattern is sound
		if hit && !e.IsDir() && (e.Name()[0] != '.' || base[0] == '.') {
			names = append(names, e.Name())
		}
	}
	return names
}

// unit reads and parses an included file. It returns false if that is impossible.
func (g given) unit(name, path string) (unit, bool) {
	src, why := readRegular(path)
	if why != "" {
		g.fail(g.rng, "cannot read "+name, "%s", why)
		return unit{}, false
	}
	body, diags := parseBody(src, name)
	g.diags = append(g.diags, diags...)
	return unit{name, src, body}, true
}

// readRegular is readFile for a file that is not opened if it is something else, such as a
// pipe.
func readRegular(path string) (src []byte, why string) {
	if st, err := os.Stat(path); err == nil && !st.IsDir() && st.Mode()&fs.ModeType != 0 {
		return nil, "It is not a regular file."
	}
	return readFile(path)
}

// enter makes paths relative to the folder of the file that a block stands in.
func (r *reader) enter(b *hcl.Block) { r.dir = r.folders[b.DefRange.Filename] }

// onlyMain removes from the body of an included file what only the main one may have.
func (r *reader) onlyMain(u unit, main string) *hclsyntax.Body {
	rest := *u.body
	rest.Blocks = slices.DeleteFunc(slices.Clone(u.body.Blocks), func(b *hclsyntax.Block) bool {
		if b.Type != "supervisor" && b.Type != "secrets" {
			return false
		}
		r.fail(b.DefRange(), fmt.Sprintf("block %q in an included file", b.Type), "It is about the whole. Move it to %s, which includes this file.", main)
		return true
	})
	if a, ok := u.body.Attributes["include"]; ok {
		r.fail(a.NameRange, "include in an included file", "Name all files in %s, which includes this one.", main)
		rest.Attributes = maps.Clone(u.body.Attributes)
		delete(rest.Attributes, "include")
	}
	return &rest
}

// finish sorts diagnostics, by file and by position, and attaches the text that they are
// about.
func finish(diags hcl.Diagnostics, units []unit) hcl.Diagnostics {
	diags = merged(diags)
	number := map[string]int{}
	for i, u := range units {
		number[u.name] = i + 1
	}
	file := func(d *hcl.Diagnostic) int {
		if d.Subject == nil {
			return 0
		}
		return number[d.Subject.Filename]
	}
	slices.SortStableFunc(diags, func(a, b *hcl.Diagnostic) int {
		return cmp.Or(cmp.Compare(file(a), file(b)), cmp.Compare(offset(a), offset(b)))
	})
	for _, d := range diags {
		u := units[max(file(d)-1, 0)]
		d.Extra = source{src: u.src, body: u.body, inner: d.Extra}
	}
	return diags
}

// line names the line of a position for a message about another position.
func line(of, from hcl.Range) string {
	if of.Filename == from.Filename {
		return fmt.Sprintf("line %d", of.Start.Line)
	}
	return fmt.Sprintf("line %d of %s", of.Start.Line, of.Filename)
}
