package jsonedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/tailscale/hujson"
)

// ErrUnsafe means that a text cannot be changed without losing something in it.
var ErrUnsafe = errors.New("it cannot be changed safely")

// Set returns src with a value at a path of members, or src itself if it is there. Only
// the text of that value changes; objects on the path are made. An error is about the syntax
// of src, or wraps [ErrUnsafe].
func Set(src []byte, path []string, value any) ([]byte, error) {
	src, hasBOM := bytes.CutPrefix(src, bom)
	out, err := setPlain(src, path, value)
	return withBOM(out, hasBOM), err
}

func withBOM(out []byte, hasBOM bool) []byte {
	if hasBOM && out != nil {
		out = append(bytes.Clone(bom), out...)
	}
	return out
}

// bom may begin a text.
var bom = []byte("\xef\xbb\xbf")

// parsed returns the tree of a text, and the text itself with an end of its last line.
func parsed(src []byte) ([]byte, hujson.Value, error) {
	if !bytes.HasSuffix(src, []byte("\n")) {
		src = append(bytes.Clone(src), '\n') // ends a comment
	}
	root, err := hujson.Parse(src)
	if err != nil {
		return nil, root, errors.New(strings.TrimPrefix(err.Error(), "hujson: ") + "; expected JSON, in which comments are allowed")
	}
	return src, root, nil
}

func setPlain(src []byte, path []string, value any) ([]byte, error) {
	src, root, err := parsed(src)
	if err != nil {
		return nil, err
	}
	at := &root
	for i, name := range path {
		obj, ok := at.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("line %d: expected an object", lineOf(src, at.StartOffset))
		}
		member, err := memberOf(obj, name)
		if err != nil {
			return nil, err
		}
		if member == nil {
			return inserted(src, &root, at, path, i, value)
		}
		at = &member.Value
	}
	return replaced(src, &root, at, path, value)
}

// memberOf returns a member of an object, nil if it has no member of that name.
func memberOf(obj *hujson.Object, name string) (*hujson.ObjectMember, error) {
	var found *hujson.ObjectMember
	for i := range obj.Members {
		m := &obj.Members[i]
		if lit, ok := m.Name.Value.(hujson.Literal); !ok || lit.String() != name {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%w: it has two members %q", ErrUnsafe, name)
		}
		found = m
	}
	return found, nil
}

// replaced puts a value in the place of another one.
func replaced(src []byte, root, at *hujson.Value, path []string, value any) ([]byte, error) {
	old := src[at.StartOffset:at.EndOffset]
	is, err := Decode(old)
	if err != nil {
		return nil, err
	}
	want, err := encoded(value)
	if err != nil {
		return nil, err
	}
	if reflect.DeepEqual(is, want) {
		return src, nil
	}
	if hasComments(at) {
		return nil, fmt.Errorf("%w: what it has there contains comments", ErrUnsafe)
	}
	prefix := indentAt(src, at.StartOffset)
	fresh, err := Text(value, prefix, unitOf(src, root))
	if err != nil {
		return nil, err
	}
	return spliced(src, at.StartOffset, at.EndOffset, fresh, path, value)
}

// hasComments reports whether a value contains comments; trailing commas do not count.
func hasComments(v *hujson.Value) bool {
	inner := v.Clone()
	inner.BeforeExtra, inner.AfterExtra = nil, nil
	for v := range inner.All() {
		found := !v.BeforeExtra.IsStandard() || !v.AfterExtra.IsStandard()
		switch c := v.Value.(type) {
		case *hujson.Object:
			for _, m := range c.Members {
				found = found || !m.Name.BeforeExtra.IsStandard() || !m.Name.AfterExtra.IsStandard()
			}
			found = found || !c.AfterExtra.IsStandard()
		case *hujson.Array:
			found = found || !c.AfterExtra.IsStandard()
		}
		if found {
			return true
		}
	}
	return false
}

// inserted adds path[i:] with its value as the last member of an object.
func inserted(src []byte, root, at *hujson.Value, path []string, i int, value any) ([]byte, error) {
	obj := at.Value.(*hujson.Object)
	whole := value
	for j := len(path) - 1; j > i; j-- {
		whole = map[string]any{path[j]: whole}
	}
	unit := unitOf(src, root)
	outer := indentAt(src, at.StartOffset)
	inner := outer + unit
	brace := at.EndOffset - 1
	end := len(bytes.TrimRight(src[:brace], " \t\r\n"))
	lines := len(obj.Members) == 0 || bytes.ContainsRune(src[at.StartOffset:brace], '\n')
	if n := len(obj.Members); n > 0 && lines {
		if own := indentAt(src, obj.Members[n-1].Name.StartOffset); startsLine(src, obj.Members[n-1].Name.StartOffset) {
			inner = own
		}
	}
	fresh, err := Text(whole, inner, unit)
	if err != nil {
		return nil, err
	}
	name, err := Text(path[i], "", "")
	if err != nil {
		return nil, err
	}
	fresh = name + ": " + fresh
	comma := len(obj.Members) > 0 && obj.Members[len(obj.Members)-1].Value.AfterExtra == nil
	trailing := len(obj.Members) > 0 && !comma
	if trailing {
		fresh += ","
	}
	if lines {
		fresh = "\n" + inner + fresh + "\n" + outer
	} else {
		fresh = " " + fresh + string(src[end:brace])
	}
	if comma { // after the last value, so that a comment behind it stays there
		after := obj.Members[len(obj.Members)-1].Value.EndOffset
		fresh = "," + string(src[after:end]) + fresh
		end = after
	}
	return spliced(src, end, brace, fresh, path, value)
}

// spliced replaces text, and checks that nothing but the value at path has changed.
func spliced(src []byte, from, to int, fresh string, path []string, value any) ([]byte, error) {
	if bytes.Contains(src, []byte("\r\n")) {
		fresh = strings.ReplaceAll(strings.ReplaceAll(fresh, "\r\n", "\n"), "\n", "\r\n")
	}
	put, err := encoded(value)
	if err != nil {
		return nil, err
	}
	return verified(src, append(append(bytes.Clone(src[:from]), fresh...), src[to:]...), path, func(at map[string]any, name string) { at[name] = put })
}

// verified returns out if it is src with a change to the object that has the last member of a
// path.
func verified(src, out []byte, path []string, change func(at map[string]any, name string)) ([]byte, error) {
	want, err := Decode(src)
	if err != nil {
		return nil, err
	}
	at, _ := want.(map[string]any)
	for _, name := range path[:len(path)-1] {
		deeper, ok := at[name].(map[string]any)
		if !ok {
			deeper = map[string]any{}
			at[name] = deeper
		}
		at = deeper
	}
	change(at, path[len(path)-1])
	if is, err := Decode(out); err != nil || !reflect.DeepEqual(is, want) {
		return nil, fmt.Errorf("%w: the result would not be what was meant", ErrUnsafe)
	}
	return out, nil
}

// Decode returns the value of a text with comments.
func Decode(src []byte) (any, error) {
	plain, err := hujson.Standardize(bytes.Clone(src))
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(plain))
	d.UseNumber()
	var v any
	err = d.Decode(&v)
	return v, err
}

// encoded returns a value as it is when it is read back.
func encoded(value any) (any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return Decode(text)
}

// Text returns a value as JSON in several lines, of which those after the first begin with
// prefix, and with unit for each level.
func Text(value any, prefix, unit string) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(prefix, unit)
	err := enc.Encode(value)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// indentAt returns the space at the beginning of the line that has an offset.
func indentAt(src []byte, offset int) string {
	line := src[bytes.LastIndexByte(src[:offset], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// startsLine reports whether only space stands before an offset in its line.
func startsLine(src []byte, offset int) bool {
	return len(bytes.TrimSpace(src[bytes.LastIndexByte(src[:offset], '\n')+1:offset])) == 0
}

// unitOf returns by how much the members of the file are indented.
func unitOf(src []byte, root *hujson.Value) string {
	obj, ok := root.Value.(*hujson.Object)
	if ok && len(obj.Members) > 0 && startsLine(src, obj.Members[0].Name.StartOffset) {
		if unit := indentAt(src, obj.Members[0].Name.StartOffset); unit != "" {
			return unit
		}
	}
	return "  "
}

func lineOf(src []byte, offset int) int { return 1 + bytes.Count(src[:offset], []byte("\n")) }
