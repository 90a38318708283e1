package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// MaxFile bounds the bytes of a settings file.
const MaxFile = 4 << 20

// Read reads a settings file: a JSON object, which may have comments and trailing
// commas.
func Read(path string) (map[string]any, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	if info.Size() > MaxFile {
		return nil, fmt.Errorf("%s: %d bytes, limit %d", path, info.Size(), MaxFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// Parse returns the settings of a text, as [Read]. Errors contain name and the line.
func Parse(name string, text []byte) (map[string]any, error) {
	settings := map[string]any{}
	plain := WithoutComments(text)
	if len(strings.TrimSpace(string(plain))) == 0 {
		return settings, nil // editors create such files
	}
	if err := json.Unmarshal(plain, &settings); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, lineOf(text, err), err)
	}
	if settings == nil { // null
		return nil, fmt.Errorf("%s: an object of settings expected", name)
	}
	return settings, nil
}

// lineOf returns the line of a text in which an error of package json is.
func lineOf(text []byte, err error) int {
	at := int64(len(text))
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &typed):
		at = typed.Offset
	}
	return 1 + strings.Count(string(text[:min(at, int64(len(text)))]), "\n")
}

// WithoutComments returns a text of JSON with comments and trailing commas replaced by spaces, so that offsets stay
// the same.
func WithoutComments(text []byte) []byte {
	out := slices.Clone(text)
	comma := -1 // offset of a comma with nothing after it yet
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			comma = -1
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case c == '/' && i+1 < len(text) && text[i+1] == '/':
			end := i
			for end < len(text) && text[end] != '\n' {
				end++
			}
			blank(i, end)
			i = end - 1
		case c == '/' && i+1 < len(text) && text[i+1] == '*':
			end := len(text)
			if n := strings.Index(string(text[i+2:]), "*/"); n >= 0 {
				end = i + 2 + n + 2
			}
			blank(i, end)
			i = end - 1
		case c == ',':
			comma = i
		case c == '}' || c == ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		default:
			comma = -1
		}
	}
	return out
}
