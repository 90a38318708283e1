package blame

import (
	"slices"
	"strings"

	"github.com/hostsup/hostsup/extensions"
)

// abortStack is what node prints before the frames of the JavaScript that called abort.
const abortStack = "----- JavaScript stack trace -----"

// Aborted returns the extensions on the last stack that node has printed before it aborted, of
// lines of its standard error. The extension of the innermost frame, which called abort, has
// the share 1. That of the outermost frame, which called the innermost, has 0.5 if it is
// another one. Without such a stack, or without an extension on it, the result is nil.
func (x Index) Aborted(lines []string) []Share {
	for at := len(lines) - 1; at >= 0; at-- {
		if !strings.Contains(lines[at], abortStack) {
			continue
		}
		return x.calling(lines[at+1:])
	}
	return nil
}

// Aborting reports whether node has printed a stack before it aborted: then JavaScript called abort,
// or an error was not caught, and native code has not crashed.
func Aborting(lines []string) bool {
	return slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, abortStack) })
}

// maxNative is of how many extensions with native code the crash of such code leads to each: of more
// it tells too little.
const maxNative = 3

// Native returns the extensions of files with native code, one of which has crashed. Each has the
// share 0.5, because the code of node or of the host may have crashed as well. Of more than 3
// extensions the result is nil.
func (x Index) Native(files []string) (shares []Share) {
	for _, file := range files {
		id, ok := x.File(file)
		if s := (Share{id, 0.5}); ok && !slices.Contains(shares, s) {
			shares = append(shares, s)
		}
	}
	if len(shares) > maxNative {
		return nil
	}
	return shares
}

// Calling returns the extensions on the JavaScript stack of a call, such as that of execSync, in
// which the host waits. The extension of the innermost frame, which made the call, has the share
// 1. That of the outermost frame, which called the innermost, has 0.5 if it is another one.
// Without an extension on the stack the result is nil.
func (x Index) Calling(stack string) []Share {
	return x.calling(slices.Collect(strings.Lines(stack)))
}

func (x Index) calling(lines []string) []Share {
	innermost, outermost, ok := x.frames(lines)
	switch {
	case !ok:
		return nil
	case innermost == outermost:
		return []Share{{innermost, 1}}
	}
	return []Share{{innermost, 1}, {outermost, 0.5}}
}

// Thrown returns the extensions of a JavaScript stack: that of the first frame with a file of
// an extension, which threw, and that of the last one, which called it. The stack of an error
// goes on behind an await ("at async f"), so that the last frame mostly is that of the timer
// or the event with which it began.
func (x Index) Thrown(stack string) (innermost, outermost extensions.ID, ok bool) {
	return x.frames(slices.Collect(strings.Lines(stack)))
}

// frames returns the extensions of the innermost and the outermost frame that have one.
func (x Index) frames(lines []string) (innermost, outermost extensions.ID, ok bool) {
	for _, line := range lines {
		file, isFrame := frame(line)
		if !isFrame {
			if ok {
				return innermost, outermost, true
			}
			continue // empty, before the first one
		}
		id, found := x.File(file)
		switch {
		case !found:
		case !ok:
			innermost, outermost, ok = id, id, true
		default:
			outermost = id
		}
	}
	return innermost, outermost, ok
}

// frame returns the file of a frame as V8 prints it: "at f (file:1:2)", "at async file:1:2",
// and on the stack of an abort "3: f (file:1:2)".
func frame(line string) (file string, ok bool) {
	line = strings.TrimSpace(line)
	rest, ok := strings.CutPrefix(line, "at ")
	if !ok {
		number, after, found := strings.Cut(line, ": ")
		if !found || !digits(number) {
			return "", false
		}
		rest = after
	}
	if i := strings.LastIndexByte(rest, '('); i >= 0 && strings.HasSuffix(rest, ")") {
		rest = rest[i+1 : len(rest)-1]
	}
	rest = strings.TrimPrefix(rest, "async ")
	for range 2 { // line and column
		if i := strings.LastIndexByte(rest, ':'); i > 1 && digits(rest[i+1:]) {
			rest = rest[:i]
		}
	}
	return rest, true
}
