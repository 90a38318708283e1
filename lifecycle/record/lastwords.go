package record

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLastWords bounds what LastWords returns, in bytes.
const maxLastWords = 200

// LastWords returns the line that says most likely why a program has ended, of the lines
// that it has printed to standard error: the last one, or the message above a stack trace
// of node or Go. Colours are taken out, what cannot be printed is escaped, and what is
// longer than 200 bytes is cut. It returns "" if there is no such line.
func LastWords(lines []string) string {
	traced := false
	for i := len(lines) - 1; i >= 0; i-- {
		line := colours.ReplaceAllString(lines[i], "")
		switch {
		case strings.HasPrefix(line, "goroutine "):
			if j := above(lines[:i], "panic: ", "fatal error: "); j >= 0 {
				return shown(lines[j])
			}
		case strings.HasPrefix(line, "    at "):
			traced = true
			continue
		case line == "", unicode.IsSpace(rune(line[0])), strings.Trim(line, "{}[](),;^~") == "", strings.HasPrefix(line, "Node.js v"), goFrame.MatchString(line):
			continue
		}
		if traced {
			if j := above(lines[:i+1], "Error: ", "Error ["); j >= 0 {
				return shown(lines[j])
			}
		}
		return shown(line)
	}
	return ""
}

var (
	colours = regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`)
	goFrame = regexp.MustCompile(`^(exit status \d+|[\w./*()-]+\(.*\)|created by .*)$`)
)

// messageLines is how far above its stack trace a message may begin.
const messageLines = 20

// above returns the index of the last line that has one of the parts, -1 for none near
// the end.
func above(lines []string, parts ...string) int {
	for i := len(lines) - 1; i >= max(0, len(lines)-messageLines); i-- {
		for _, p := range parts {
			if strings.Contains(lines[i], p) {
				return i
			}
		}
	}
	return -1
}

// shown makes a line fit for messages.
func shown(line string) string {
	line = strings.TrimSpace(colours.ReplaceAllString(line, ""))
	var out strings.Builder
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRuneInString(line[i:])
		part := line[i : i+size]
		switch {
		case r == utf8.RuneError && size == 1:
			part = `\x` + strconv.FormatUint(uint64(line[i])|0x100, 16)[1:]
		case r == '\t':
			part = " "
		case !unicode.IsPrint(r):
			part = strings.Trim(strconv.QuoteRune(r), "'")
		}
		if out.Len()+len(part) > maxLastWords {
			out.WriteString("…")
			break
		}
		out.WriteString(part)
		i += size
	}
	return out.String()
}
