package tests

import (
	"fmt"
	"net/url"
	"strings"
)

// The separators of ids: of hosts, and of programs.
const (
	wireSeparator = "\x00"
	separator     = "::"
)

// nameOf returns the id of a test for programs. wire is the id that its host uses.
func nameOf(wire string) string {
	parts := strings.Split(wire, wireSeparator)
	for i, part := range parts {
		parts[i] = escaped(part)
	}
	return strings.Join(parts, separator)
}

func escaped(part string) string {
	var b strings.Builder
	for i := range len(part) {
		c := part[i]
		colon := c == ':' && (i == 0 || i == len(part)-1 || part[i-1] == ':' || part[i+1] == ':')
		if c == '%' || c < ' ' || c == 0x7f || colon {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// wireOf returns the id that a host uses for a test. The error is [ErrNoTest] for a text that is no id.
func wireOf(id string) (string, error) {
	parts := strings.Split(id, separator)
	for i, part := range parts {
		text, err := url.PathUnescape(part)
		if err != nil || strings.Contains(text, wireSeparator) {
			return "", fmt.Errorf("%w: %q is not an id", ErrNoTest, id)
		}
		parts[i] = text
	}
	return strings.Join(parts, wireSeparator), nil
}

// controllerOf returns the id of the controller of a test. wire is the id that its host uses.
func controllerOf(wire string) string {
	id, _, _ := strings.Cut(wire, wireSeparator)
	return id
}

// above returns the id of the test above one; "" above a controller.
func above(wire string) string {
	i := strings.LastIndex(wire, wireSeparator)
	return wire[:max(i, 0)]
}

// tagName returns a tag as its extension names it; hosts put the id of the controller before it.
func tagName(tag string) string {
	if _, name, ok := strings.Cut(tag, wireSeparator); ok {
		return name
	}
	return tag
}
