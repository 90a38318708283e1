package glob

import (
	"errors"
	"fmt"
	"strings"
)

// ErrPattern is within every error of this package: the pattern is wrong or too large.
var ErrPattern = errors.New("wrong glob pattern")

// Glob is a pattern that was compiled. It is safe for concurrent use. The zero value matches nothing.
type Glob struct {
	pattern string
	base    string // with a slash at its end; "" without a base

	size       int // alternatives
	everything bool
	paths      map[string]bool // whole paths
	names      map[string]bool // **/name
	endings    map[string]bool // **/*.ext, with only the dot it begins with
	suffixes   []string        // **/*anything
	tails      []string        // **/a/b
	others     [][]segment
}

// Compile compiles a pattern. The empty pattern matches nothing. The error is an [ErrPattern].
func Compile(pattern string) (*Glob, error) { return Any(pattern) }

// Any compiles several patterns into a Glob that matches what one of them matches.
func Any(patterns ...string) (*Glob, error) {
	g := &Glob{pattern: strings.Join(patterns, ", ")}
	for _, p := range patterns {
		p = strings.TrimSpace(p)
		if p == "" {
			continue
		}
		alternatives, err := expand(p)
		if err != nil {
			return nil, err
		}
		if g.size += len(alternatives); g.size > maxTogether {
			return nil, fmt.Errorf("%w: the patterns up to %.100q have %d alternatives together, at most %d expected", ErrPattern, p, g.size, maxTogether)
		}
		for _, a := range alternatives {
			if err := g.add(a); err != nil {
				return nil, fmt.Errorf("%w %q: %w", ErrPattern, p, err)
			}
		}
	}
	return g, nil
}

// In compiles a pattern for the paths below a folder. The Glob matches whole paths.
func In(base, pattern string) (*Glob, error) {
	g, err := Any(pattern)
	if err != nil {
		return nil, err
	}
	g.base = strings.TrimRight(base, "/") + "/"
	return g, nil
}

// MustCompile is [Compile] for patterns that a program contains: it panics if the pattern is wrong.
func MustCompile(pattern string) *Glob {
	g, err := Compile(pattern)
	if err != nil {
		panic(err)
	}
	return g
}

// Size returns how many patterns without braces the patterns stand for. The memory that a Glob takes
// grows with it.
func (g *Glob) Size() int { return g.size }

// String returns the pattern.
func (g *Glob) String() string { return g.base + g.pattern }

// Match reports whether the pattern matches a path.
func (g *Glob) Match(path string) bool {
	if g.base != "" {
		rest, below := strings.CutPrefix(path, g.base)
		if !below && path+"/" != g.base {
			return false
		} else if !below {
			rest = ""
		}
		path = rest
	}
	if g.everything || g.paths[path] {
		return true
	}
	name := path[strings.LastIndexByte(path, '/')+1:]
	if g.names[name] {
		return true
	}
	if len(g.endings) > 0 {
		if dot := strings.LastIndexByte(name, '.'); dot >= 0 && g.endings[name[dot:]] {
			return true
		}
	}
	for _, s := range g.suffixes {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	for _, t := range g.tails {
		if rest, ok := strings.CutSuffix(path, t); ok && (rest == "" || rest[len(rest)-1] == '/') {
			return true
		}
	}
	for _, o := range g.others {
		if matches(o, path) {
			return true
		}
	}
	return false
}

// add adds a pattern without braces.
func (g *Glob) add(pattern string) error {
	segments, err := parse(pattern)
	if err != nil {
		return err
	}
	plain := true // but for a ** in front
	for i, s := range segments {
		if s.deep && i == 0 && len(segments) > 1 {
			continue
		}
		plain = plain && s.isPlain()
	}
	last := segments[len(segments)-1]
	ending, isEnding := last.ending()
	deep := segments[0].deep
	switch {
	case deep && (len(segments) == 1 || len(segments) == 2 && isEnding && ending == ""):
		g.everything = true
	case plain && !deep:
		set(&g.paths, text(segments))
	case plain && len(segments) == 2:
		set(&g.names, last.plain)
	case plain:
		g.tails = append(g.tails, text(segments[1:]))
	case deep && len(segments) == 2 && isEnding && strings.LastIndexByte(ending, '.') == 0:
		set(&g.endings, ending)
	case deep && len(segments) == 2 && isEnding:
		g.suffixes = append(g.suffixes, ending)
	default:
		g.others = append(g.others, segments)
	}
	return nil
}

func set(m *map[string]bool, key string) {
	if *m == nil {
		*m = map[string]bool{}
	}
	(*m)[key] = true
}

// text returns the path that plain segments match.
func text(segments []segment) string {
	names := make([]string, len(segments))
	for i, s := range segments {
		names[i] = s.plain
	}
	return strings.Join(names, "/")
}
