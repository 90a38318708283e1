package guard

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// ParamCheck looks at the parameters of one request, part by part, for paths
// that lead out of the roots. It is a codec.Visitor: hand it to the Walk of the
// encoding, then ask [ParamCheck.Err]. Make one with [PathRules.CheckParams]; it
// is not for concurrent use.
//
// Where a string stands decides what is refused:
//
//   - A member that names a path (path, file, cwd, …), and the parameters of file
//     system methods that do, must be an absolute path or a file URI within a
//     root. A member that names a URI (uri, rootUri, …) may have another scheme.
//   - In a member that holds text (message, newText, …), and in what is shown or
//     copied, only a whole file URI is looked at.
//   - Anywhere else, names of members included, whatever is a file URI, an
//     absolute path, a path from a home folder, a path of Windows, or a relative
//     one that goes up has to lead into a root. See isCandidate for the limits.
//
// Where hosts send URIs as objects, as VS Code's do, the path of one that has
// another scheme than those of files is not looked at.
type ParamCheck struct {
	rules  *PathRules
	takes  Permission // of the method
	apart  bool       // there may be URIs that are objects
	moves  bool       // the method takes two paths
	frames []frame
	steps  int // lookups that are left
	err    error
}

// place is what the strings at one place are taken for.
type place byte

const (
	anywhere place = iota
	isPath
	isURI
	isText
)

// frame is an array or object that is open.
type frame struct {
	object bool
	place  place // of an array's elements
	index  int   // of an array's next element
	key    string
	named  place // what the value of key is taken for

	// What an object says of itself that may be a URI taken apart.
	schemes   scheme
	foreign   bool   // it names another machine
	path      string // the last
	fsPath    string
	paths     int   // how many of both there are
	pathErr   error // of the first path that is refused
	fsPathErr error
}

// scheme is what the schemes of an object are, as a set.
type scheme byte

const (
	isFile  scheme = 1 << iota // of a file
	isShown                    // of a file that is shown in another way
	isOther
)

// maxSteps bounds the names that are looked up for one request.
const maxSteps = 1 << 20

// CheckParams returns a check of the parameters of a request of this method.
// uriObjects says that hosts of the protocol send URIs as objects with a scheme.
func (r *PathRules) CheckParams(method string, uriObjects bool) *ParamCheck {
	c := &ParamCheck{rules: r, apart: uriObjects, steps: maxSteps}
	c.takes, _ = defaults().Permission(method)
	name := strings.ToLower(path.Base(strings.ReplaceAll(method, ".", "/")))
	c.moves = c.takes == FileSystemWrite && (strings.HasSuffix(name, "copy") || strings.HasSuffix(name, "rename") || strings.HasSuffix(name, "move"))
	return c
}

// Err returns why the parameters are refused, or nil. It wraps an error of
// [PathRules], and says where the path stands without repeating it.
func (c *ParamCheck) Err() error { return c.err }

// Open implements codec.Visitor.
func (c *ParamCheck) Open(object bool) {
	f := frame{object: object}
	if !object {
		f.place = c.place()
	}
	c.frames = append(c.frames, f)
}

// Close implements codec.Visitor.
func (c *ParamCheck) Close() {
	f := c.frames[len(c.frames)-1]
	c.frames = c.frames[:len(c.frames)-1]
	if c.err == nil {
		c.err = f.verdict(c.apart)
	}
	c.next()
}

// verdict is what is wrong with the path of an object, whose scheme is known by
// now.
func (f *frame) verdict(apart bool) error {
	once := apart && (f.paths == 0 || f.paths == 1 && f.path != "" || f.paths == 2 && f.fsPath == f.path)
	switch {
	case once && f.schemes == isOther:
		return nil
	case once && f.schemes == isShown && !strings.HasPrefix(f.path, "/") && !goesUp(unescape(f.path)): // untitled:one
		return nil
	case f.schemes&isFile != 0 && f.foreign:
		return fmt.Errorf("authority: %w: the URI names another machine", ErrNotPath)
	case f.pathErr != nil:
		return f.pathErr
	}
	return f.fsPathErr
}

// Key implements codec.Visitor.
func (c *ParamCheck) Key(name []byte) {
	f := &c.frames[len(c.frames)-1]
	f.key, f.named = "", anywhere
	if c.err == nil && mayBeCandidate(name) {
		if text := string(name); isCandidate(text) {
			if err := c.rules.check(text, &c.steps); err != nil {
				c.err = fmt.Errorf("a name in %s: %w", c.where(), err)
			}
		}
	}
	if len(name) <= maxKey {
		f.key = strings.ToLower(string(name))
		f.named = c.meaning(f.key)
	}
}

// Other implements codec.Visitor.
func (c *ParamCheck) Other() { c.next() }

// Text implements codec.Visitor.
func (c *ParamCheck) Text(text []byte) {
	defer c.next()
	if c.err != nil {
		return
	}
	at := c.place()
	if f := c.object(); f != nil && len(text) <= maxText {
		switch f.key {
		case "scheme":
			switch name := strings.ToLower(string(text)); {
			case name == "file":
				f.schemes |= isFile
			case isFileScheme(name):
				f.schemes |= isShown
			default:
				f.schemes |= isOther
			}
		case "authority":
			f.foreign = f.foreign || len(text) > 0 && !strings.EqualFold(string(text), "localhost")
		case "path", "fspath":
			f.paths++
			err := c.judge(at, string(text))
			if f.key == "path" {
				f.path, f.pathErr = string(text), cmp.Or(f.pathErr, err)
			} else {
				f.fsPath, f.fsPathErr = string(text), cmp.Or(f.fsPathErr, err)
			}
			return
		}
	}
	if at == anywhere && !mayBeCandidate(text) || at == isText && !mayBeURI(text) {
		return // without a copy: it may be the content of a file
	}
	c.err = c.judge(at, string(text))
}

// judge looks at a string that is taken for something.
func (c *ParamCheck) judge(at place, text string) error {
	var err error
	switch at {
	case isPath:
		if scheme, rest := cutScheme(text); scheme != "" && scheme != "file" && !strings.HasPrefix(rest, "/") {
			err = fmt.Errorf("%w: a file:// URI or an absolute path expected", ErrNotPath)
			break
		}
		err = c.rules.check(text, &c.steps)
	case isURI:
		_, _, files := fileURI(text)
		if scheme, rest := cutScheme(text); scheme != "" && !files && !isFileScheme(scheme) && !goesUp(unescape(rest)) {
			break
		}
		err = c.rules.check(text, &c.steps)
	case isText:
		if !isWholeURI(text) {
			return nil
		}
		err = c.rules.check(text, &c.steps)
	default:
		if !isCandidate(text) {
			return nil
		}
		err = c.rules.check(text, &c.steps)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.where(), err)
	}
	return nil
}

// object is the innermost thing that is open, if it is an object.
func (c *ParamCheck) object() *frame {
	if n := len(c.frames); n > 0 && c.frames[n-1].object {
		return &c.frames[n-1]
	}
	return nil
}

// next counts an element of an array, or ends a member.
func (c *ParamCheck) next() {
	if len(c.frames) == 0 {
		return
	}
	f := &c.frames[len(c.frames)-1]
	if f.object {
		f.key, f.named = "", anywhere
	} else {
		f.index++
	}
}

// place says what a string that comes now is taken for.
func (c *ParamCheck) place() place {
	switch n := len(c.frames); {
	case n == 0:
		return c.positional(0)
	case c.frames[n-1].object:
		return c.frames[n-1].named
	case n == 1:
		return c.positional(c.frames[0].index)
	default:
		return c.frames[n-1].place
	}
}

// positional says what the method takes a parameter without a name for.
func (c *ParamCheck) positional(index int) place {
	switch c.takes {
	case FileSystemRead, FileSystemWrite, FileSystemDelete:
		if index == 0 || index == 1 && c.moves {
			return isURI // a path, too
		}
		if c.takes == FileSystemWrite {
			return isText
		}
	case UINotifications, ClipboardWrite:
		return isText
	}
	return anywhere
}

// Members by what they hold, in lower case. Those of which it is not sure that
// they name a file, such as source and target, do so in file system methods.
var (
	pathKeys = []string{
		"path", "paths", "file", "files", "fspath", "filepath", "filepaths", "filename", "filenames", "dir", "directory", "directories",
		"folder", "folders", "cwd", "oldpath", "newpath", "rootpath",
	}
	uriKeys = []string{
		"uri", "uris", "olduri", "newuri", "rooturi", "baseuri", "targeturi", "documenturi", "notebookuri", "scopeuri", "resource",
	}
	moveKeys = []string{"source", "target", "destination", "from", "to", "old", "new"}
	textKeys = []string{
		"message", "text", "newtext", "inserttext", "filtertext", "sorttext", "label", "title", "detail", "description", "documentation",
		"content", "contents", "placeholder", "prompt", "tooltip", "query", "stack", "triggercharacters", "commitcharacters",
	}
)

const (
	maxKey  = 64       // a longer name is none of those above
	maxText = 32 << 10 // of what is kept of an object
)

// meaning says what the value of a member is taken for.
func (c *ParamCheck) meaning(key string) place {
	switch {
	case slices.Contains(pathKeys, key):
		return isPath
	case slices.Contains(uriKeys, key):
		return isURI
	case slices.Contains(textKeys, key):
		return isText
	case slices.Contains(moveKeys, key) && (c.takes == FileSystemRead || c.takes == FileSystemWrite || c.takes == FileSystemDelete):
		return isURI
	}
	return anywhere
}

// where names the place of what comes now, as the host wrote it.
func (c *ParamCheck) where() string {
	var b strings.Builder
	for i := range c.frames {
		switch f := &c.frames[i]; {
		case b.Len() > 128:
			b.WriteString("…")
			return b.String()
		case !f.object:
			b.WriteString("[" + strconv.Itoa(f.index) + "]")
		case f.key != "":
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			fmt.Fprintf(&b, "%q", f.key)
		}
	}
	if b.Len() == 0 {
		return "the parameters"
	}
	return b.String()
}
