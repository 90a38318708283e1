package manifest

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// engineForm matches engines.vscode; semver matches a version.
var (
	engineForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(\^|>=)?(\d{1,9}|x)\.(\d{1,9}|x)\.(\d{1,9}|x)(-.*)?$`)
	})
	semver = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[v=]*\s*(0|[1-9]\d{0,15})\.(0|[1-9]\d{0,15})\.(0|[1-9]\d{0,15})(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$`)
	})
)

// engine is a parsed engines.vscode.
type engine struct {
	base    [3]int
	exact   [3]bool // this part must be equal, not a minimum
	minimum bool    // >=
}

func parseEngine(text string) (engine, bool) {
	text = strings.TrimSpace(text)
	if text == "*" {
		return engine{}, true
	}
	m := engineForm().FindStringSubmatch(text)
	if m == nil {
		return engine{}, false
	}
	e := engine{minimum: m[1] == ">="}
	for i, part := range m[2:5] {
		if part != "x" {
			e.exact[i] = true
			e.base[i], _ = strconv.Atoi(part) // at most nine digits
		}
	}
	if m[1] == "^" {
		e.exact[2] = false
		if e.base[0] != 0 {
			e.exact[1] = false
		}
	}
	return e, true
}

// fits reports whether an editor of this version is compatible.
func (e engine) fits(product [3]int) bool {
	if e.minimum {
		return compare(product, e.base) >= 0
	}
	// An extension for a version before 1.0 runs in every 1.x, unless it requires
	// an exact version.
	if product[0] == 1 && e.base[0] == 0 && e.exact != [3]bool{true, true, true} {
		e = engine{base: [3]int{1, 0, 0}, exact: [3]bool{true, false, false}}
	}
	for i := range product {
		switch {
		case product[i] < e.base[i]:
			return false
		case product[i] > e.base[i]:
			return !e.exact[i]
		}
	}
	return true
}

// engine compares engines.vscode with the editor's version.
func (p *parser) engine(text string) bool {
	found := fmt.Sprintf("%q", text)
	e, ok := parseEngine(text)
	switch {
	case !ok:
		return p.fail("engines.vscode", "a version like ^1.22.0", found, ErrField)
	case text == "*":
		return true
	case !e.exact[0], e.base[0] == 0 && !e.exact[1]:
		return p.fail("engines.vscode", "one that names its major version (before 1.0 the minor one too)", found, ErrField)
	}
	if p.at.Product == "" {
		return true
	}
	product, ok := parseEngine(p.at.Product)
	if !ok {
		return p.fail("engines.vscode", "an editor with a version", fmt.Sprintf("%q", p.at.Product), ErrIncompatible)
	}
	if !e.fits(product.base) {
		return p.fail("engines.vscode", p.at.Product, found, ErrIncompatible)
	}
	return true
}

func validVersion(text string) bool { return semver().MatchString(strings.TrimSpace(text)) }

// compareVersions orders versions as semver does; invalid versions come first.
func compareVersions(a, b string) int {
	x, y := semver().FindStringSubmatch(strings.TrimSpace(a)), semver().FindStringSubmatch(strings.TrimSpace(b))
	if x == nil || y == nil {
		return cmp.Compare(len(x), len(y))
	}
	for i := 1; i <= 3; i++ {
		if c := compareNumbers(x[i], y[i]); c != 0 {
			return c
		}
	}
	switch {
	case x[4] == y[4]:
		return 0
	case x[4] == "":
		return 1
	case y[4] == "":
		return -1
	}
	p, q := strings.Split(x[4], "."), strings.Split(y[4], ".")
	for i := range min(len(p), len(q)) {
		n, m := number(p[i]), number(q[i])
		switch {
		case n && m:
			if c := compareNumbers(p[i], q[i]); c != 0 {
				return c
			}
		case n != m: // a number comes before a word
			if n {
				return -1
			}
			return 1
		default:
			if c := strings.Compare(p[i], q[i]); c != 0 {
				return c
			}
		}
	}
	return cmp.Compare(len(p), len(q))
}

func number(s string) bool { return strings.Trim(s, "0123456789") == "" }

// compareNumbers compares digits of any length.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

func compare(a, b [3]int) int {
	return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]), cmp.Compare(a[2], b[2]))
}
