package vscode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	wire "github.com/hostsup/hostsup/codec/vscode"
)

// Files of an installed build, below its root.
const (
	fileProduct = "product.json"
	fileBundle  = "out/vs/workbench/api/node/extensionHostProcess.js"
	fileNLS     = "out/nls.messages.json"
	fileStart   = "out/bootstrap-fork.js"
)

// maxFile bounds, in bytes, the files of a build that are read.
const maxFile = 64 << 20

// ErrBuild means that a folder has no build of VS Code with an extension host that this
// package can talk to. Errors that wrap it name the file and what was expected in it.
var ErrBuild = errors.New("no usable build of VS Code")

// Build describes an installed build.
type Build struct {
	Root    string // its folder, absolute
	Version string // "1.100.3"
	Commit  string // "" where the build has none
	Quality string // "stable"; may be ""
	Date    string // may be ""

	// Actors are the names of the objects that calls go to, in the order of
	// their numbers on the wire, from 1.
	Actors []string

	actors *wire.Actors
}

// Number returns the number of an actor.
func (b *Build) Number(actor string) (n uint8, ok bool) { return b.actors.Number(actor) }

// Root returns the folder of the build whose extension host a command starts:
// above the argument that ends in out/bootstrap-fork.js.
func Root(command []string) (root string, ok bool) {
	for _, arg := range command {
		if dir, ok := strings.CutSuffix(filepath.ToSlash(arg), "/"+fileStart); ok {
			return filepath.FromSlash(dir), true
		}
	}
	return "", false
}

// ReadBuild reads the description of the build in a folder, the one with product.json and
// out. The numbers of the actors are found in its bundle, because each release has other
// ones. The result is cached until the size or the time of one of the two files changes.
// Errors wrap [ErrBuild] or come from reading the files.
func ReadBuild(root string) (*Build, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	var seen [2]stamp
	for i, name := range []string{fileProduct, fileBundle} {
		path := filepath.Join(root, name)
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil, fmt.Errorf("%w: %s: there is no such file", ErrBuild, path)
		case err != nil:
			return nil, err
		case !info.Mode().IsRegular() || info.Size() > maxFile:
			return nil, fmt.Errorf("%w: %s: a file of at most %d MiB expected", ErrBuild, path, maxFile>>20)
		}
		seen[i] = stamp{info.Size(), info.ModTime()}
	}
	builds.mu.Lock()
	defer builds.mu.Unlock()
	if k, ok := builds.cached[root]; ok && k.seen == seen {
		return k.build, nil
	}
	b, err := readBuild(root)
	if err != nil {
		return nil, err
	}
	if len(builds.cached) >= maxBuilds {
		clear(builds.cached)
	}
	builds.cached[root] = cachedBuild{seen, b}
	return b, nil
}

// builds caches the builds that were read, by their roots.
var builds = struct {
	mu     sync.Mutex
	cached map[string]cachedBuild
}{cached: make(map[string]cachedBuild)}

// maxBuilds bounds the cache.
const maxBuilds = 16

type cachedBuild struct {
	seen  [2]stamp
	build *Build
}

type stamp struct {
	size int64
	time time.Time
}

func readBuild(root string) (*Build, error) {
	b := &Build{Root: root}
	path := filepath.Join(root, fileProduct)
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	var product struct{ Version, Commit, Quality, Date string }
	if err := json.Unmarshal(text, &product); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrBuild, path, err)
	}
	if product.Version == "" {
		return nil, fmt.Errorf("%w: %s: a \"version\" expected", ErrBuild, path)
	}
	b.Version, b.Commit, b.Quality, b.Date = product.Version, product.Commit, product.Quality, product.Date
	path = filepath.Join(root, fileBundle)
	if text, err = readFile(path); err != nil {
		return nil, err
	}
	if b.Actors, err = findActors(text); err != nil {
		return nil, fmt.Errorf("%w: %s (version %s): %w", ErrBuild, path, b.Version, err)
	}
	if b.actors, err = wire.NewActors(b.Version, b.Actors); err != nil {
		return nil, fmt.Errorf("%w: %s (version %s): %w", ErrBuild, path, b.Version, err)
	}
	return b, nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%w: %s: over %d MiB", ErrBuild, path, maxFile>>20)
	}
	return text, err
}

// anchor is an actor that every release has.
const anchor = "ExtHostCommands"

// required lists the actors that hostsup needs.
var required = []string{
	anchor, "ExtHostConfiguration", "ExtHostExtensionService", "ExtHostWorkspace", "MainThreadExtensionService",
}

// findActors finds the actors in the bundle of a host. They are the members of two
// consecutive objects, and each is created by a call of the same function, which numbers
// them:
//
//	A={MainThreadX:f("MainThreadX"),…},B={ExtHostCommands:f("ExtHostCommands"),…}
//
// The name of the member is that of the actor; the argument is mostly the same.
// Everything that differs from this shape is an error, because a number that is off by
// one would call another actor.
func findActors(text []byte) ([]string, error) {
	mark, err := findMaker(text)
	if err != nil {
		return nil, err
	}
	if !bytes.Contains(text, []byte(".nid=++")) {
		return nil, errors.New("the counter of its actors, .nid=++…, is not there")
	}
	var actors []string
	call := slices.Concat(mark, []byte("("))
	end := 0 // of the previous actor
	for from := 0; ; {
		i := bytes.Index(text[from:], call)
		if i < 0 {
			break
		}
		i += from
		from = i + len(call)
		if i == 0 || isIdentifier(text[i-1]) || text[i-1] == '.' {
			continue // another function, whose name has the same end
		}
		quote := text[min(from, len(text)-1)]
		if quote != '"' && quote != '\'' && quote != '`' {
			continue // its definition
		}
		n := bytes.IndexByte(text[from+1:], quote)
		if n < 0 || from+n+2 >= len(text) || text[from+n+2] != ')' || text[i-1] != ':' {
			return nil, fmt.Errorf("%.60q at byte %d: the actor NAME:%s(%cNAME%c) expected", text[i-1:min(i+60, len(text))], i, mark, quote, quote)
		}
		start := i - 1
		for start > 0 && isIdentifier(text[start-1]) {
			start--
		}
		name := string(text[start : i-1])
		if len(actors) > 0 && !isSeparator(text[end:start]) {
			return nil, fmt.Errorf("%.60q between the actors %s and %s", text[end:start], actors[len(actors)-1], name)
		}
		actors = append(actors, name)
		end = from + n + 3
		from = end // not in the argument, which may hold a call itself
	}
	for _, name := range required {
		if !slices.Contains(actors, name) {
			return nil, fmt.Errorf("no actor %s among %d", name, len(actors))
		}
	}
	return actors, nil
}

// findMaker finds the function that creates actors.
func findMaker(text []byte) ([]byte, error) {
	for _, quote := range []string{`"`, "'", "`"} {
		tail := []byte("(" + quote + anchor + quote + ")")
		i := bytes.Index(text, tail)
		if i < 0 {
			continue
		}
		start := i
		for start > 0 && isIdentifier(text[start-1]) {
			start--
		}
		if start < i && bytes.HasSuffix(text[:start], []byte(anchor+":")) {
			return text[start:i], nil
		}
	}
	return nil, fmt.Errorf("the actor %s:f(%q) expected", anchor, anchor)
}

// isSeparator reports whether b is a separator of two actors.
func isSeparator(b []byte) bool {
	b = bytes.TrimSpace(b)
	if string(b) == "," {
		return true
	}
	// },B={
	b, ok := bytes.CutPrefix(b, []byte("},"))
	if !ok {
		return false
	}
	b, ok = bytes.CutSuffix(bytes.TrimSpace(b), []byte("={"))
	return ok && len(b) > 0 && !bytes.ContainsFunc(b, func(r rune) bool { return r > 0x7f || !isIdentifier(byte(r)) })
}

func isIdentifier(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
