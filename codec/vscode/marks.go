package vscode

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/jsonwalk"
)

// Keys of objects that stand for what JSON has no word for; see the package.
const (
	keyBuffer    = "$buffer"
	keyUndefined = "$undefined"
	keyObject    = "$object"
	keyToken     = "$token"
	keyRef       = "$$ref$$" // on the wire, within an object with buffers
)

// undefined is how undefined is written.
const Undefined = `{"` + keyUndefined + `":true}`

// token is how a cancellation token is written.
const token = `{"` + keyToken + `":true}`

// marks says whether name is one of the keys behind any number of further
// dollar signs.
func marks(name string) (key string, dollars int) {
	for dollars < len(name) && name[dollars] == '$' {
		dollars++
	}
	if dollars == 0 {
		return "", 0
	}
	switch key := name[dollars-1:]; key {
	case keyBuffer, keyUndefined, keyObject, keyToken:
		return key, dollars
	}
	return "", 0
}

// plain says that no key of a JSON text can be one of the marks. Their letters
// may be written as escapes, of which there is no telling without a closer look.
func plain(text []byte) bool {
	for i := bytes.IndexByte(text, '$'); i >= 0; {
		switch rest := text[i+1:]; {
		case bytes.HasPrefix(rest, []byte("buffer")), bytes.HasPrefix(rest, []byte("undefined")),
			bytes.HasPrefix(rest, []byte("object")), bytes.HasPrefix(rest, []byte("token")), bytes.HasPrefix(rest, []byte("$ref$$")):
			return false
		}
		next := bytes.IndexByte(text[i+1:], '$')
		if next < 0 {
			break
		}
		i += 1 + next
	}
	return !bytes.Contains(text, []byte(`\u00`))
}

// rewriter copies a JSON text that was checked, and lets edit replace keys.
type rewriter struct {
	dst  []byte
	src  []byte
	most int // bytes of dst
}

// edit is told of each key: what it says, where the brace or comma before it
// and its value begin. It returns where to go on, having appended what stands
// for everything until there, or 0 to leave the key as it is.
type edit func(name string, first bool, value int) (next int, err error)

func (w *rewriter) run(each edit) error {
	done := 0
	for i := 0; i < len(w.src); {
		if w.src[i] != '"' {
			i++
			continue
		}
		end := jsonwalk.SkipText(w.src, i)
		colon := jsonwalk.Space(w.src, end)
		if colon >= len(w.src) || w.src[colon] != ':' {
			i = end
			continue
		}
		name := text(w.src[i:end])
		if name == "" || name[0] != '$' {
			i = end
			continue
		}
		w.dst = append(w.dst, w.src[done:i]...)
		done = i
		before := i - 1
		for before > 0 && w.src[before] != '{' && w.src[before] != ',' {
			before-- // only space
		}
		next, err := each(name, before >= 0 && w.src[before] == '{', jsonwalk.Space(w.src, colon+1))
		if err != nil {
			return err
		}
		if len(w.dst) > w.most {
			return tooLarge(len(w.dst), w.most)
		}
		i = end
		if next > 0 {
			i, done = next, next
		}
	}
	w.dst = append(w.dst, w.src[done:]...)
	if len(w.dst) > w.most {
		return tooLarge(len(w.dst), w.most)
	}
	return nil
}

// index reads the number of a buffer; what is none refers to nothing.
func index(b []byte) (n int, ok bool) {
	n, err := strconv.Atoi(string(b))
	return n, err == nil && n >= 0
}

// alone says whether the value that begins at i is followed by the end of its
// object, and where it ends.
func alone(b []byte, i int) (end int, ok bool) {
	end = jsonwalk.Skip(b, i)
	after := jsonwalk.Space(b, end)
	return end, after < len(b) && b[after] == '}'
}

// fromWire appends a JSON text of the host's behind dst: keys that look like
// marks get one more dollar sign. With refs, references are replaced by the
// buffers that they stand for.
func fromWire(dst, src []byte, refs [][]byte, withRefs bool, most int) ([]byte, error) {
	if plain(src) {
		if len(dst)+len(src) > most {
			return dst, tooLarge(len(dst)+len(src), most)
		}
		return append(dst, src...), nil
	}
	w := rewriter{dst: dst, src: src, most: most}
	err := w.run(func(name string, first bool, value int) (int, error) {
		if key, _ := marks(name); key != "" {
			w.dst = jsonwalk.AppendText(w.dst, "$"+name)
			w.dst = append(w.dst, ':')
			return value, nil
		}
		if !withRefs || name != keyRef || !first || !number(src[value]) {
			return 0, nil
		}
		end, only := alone(src, value)
		if !only {
			return 0, nil
		}
		n, isInt := index(src[value:end])
		if !isInt || n >= len(refs) {
			w.dst = append(w.dst, `"`+keyUndefined+`":true`...)
			return end, nil
		}
		if size := base64.StdEncoding.EncodedLen(len(refs[n])); len(w.dst)+size > most {
			return 0, tooLarge(len(w.dst)+size, most)
		}
		w.dst = append(w.dst, `"`+keyBuffer+`":`...)
		w.dst = appendBase64(w.dst, refs[n])
		return end, nil
	})
	return w.dst, err
}

// toWire appends a JSON text of ours behind dst as the host has it. With refs
// it may hold buffers and undefined, which become references; else they are an
// error.
func toWire(dst, src []byte, refs *[][]byte) ([]byte, error) {
	if plain(src) {
		return append(dst, src...), nil
	}
	w := rewriter{dst: dst, src: src, most: len(dst) + 2*len(src) + 64}
	err := w.run(func(name string, first bool, value int) (int, error) {
		key, dollars := marks(name)
		end, only := 0, false
		if key != "" && dollars == 1 {
			end, only = alone(src, value)
		}
		switch {
		case dollars > 1:
			w.dst = jsonwalk.AppendText(w.dst, name[1:])
			w.dst = append(w.dst, ':')
			return value, nil
		case name == keyRef && refs != nil && number(src[value]):
			return 0, unsendable(codec.ErrShape, "the key %q would be taken for a reference", keyRef)
		case key == "":
			return 0, nil
		case !first || !only:
			return 0, unsendable(codec.ErrShape, "%q is not the only key of its object", key)
		case refs == nil || key == keyObject || key == keyToken:
			return 0, unsendable(codec.ErrShape, "{%q: …} cannot be here: an argument or a result as a whole can be one%s", key, within(key))
		case key == keyUndefined:
			if string(src[value:end]) != "true" {
				return 0, unsendable(codec.ErrShape, "{%q: %.20s}: true expected", key, src[value:end])
			}
			w.dst = append(w.dst, `"`+keyRef+`":-1`...)
			return end, nil
		}
		data, err := buffer(src[value:end])
		if err != nil {
			return 0, err
		}
		w.dst = append(w.dst, `"`+keyRef+`":`...)
		w.dst = strconv.AppendInt(w.dst, int64(len(*refs)), 10)
		*refs = append(*refs, data)
		return end, nil
	})
	return w.dst, err
}

func within(key string) string {
	if key == keyBuffer || key == keyUndefined {
		return fmt.Sprintf(", and what is within {%q: …}", keyObject)
	}
	return ""
}

// mark takes an argument or a result apart that is one of the marked objects.
func mark(value []byte) (key string, inner []byte, err error) {
	if len(value) == 0 || value[0] != '{' {
		return "", nil, nil
	}
	i := jsonwalk.Space(value, 1)
	if value[i] != '"' {
		return "", nil, nil
	}
	end := jsonwalk.SkipText(value, i)
	key, dollars := marks(text(value[i:end]))
	if dollars != 1 {
		return "", nil, nil
	}
	at := jsonwalk.Space(value, jsonwalk.Space(value, end)+1)
	stop, only := alone(value, at)
	inner = value[at:stop]
	switch {
	case !only:
		return "", nil, unsendable(codec.ErrShape, "%q is not the only key of its object", key)
	case (key == keyUndefined || key == keyToken) && string(inner) != "true":
		return "", nil, unsendable(codec.ErrShape, "{%q: %.20s}: true expected", key, inner)
	}
	return key, inner, nil
}

// buffer decodes what stands behind the key of a buffer.
func buffer(value []byte) ([]byte, error) {
	if len(value) == 0 || value[0] != '"' {
		return nil, unsendable(codec.ErrShape, "{%q: %.20s}: a string of base64 expected", keyBuffer, value)
	}
	raw := value[1 : len(value)-1]
	if bytes.IndexByte(raw, '\\') >= 0 {
		raw = []byte(text(value))
	}
	data := make([]byte, base64.StdEncoding.DecodedLen(len(raw)))
	n, err := base64.StdEncoding.Strict().Decode(data, raw)
	if err != nil {
		return nil, unsendable(codec.ErrShape, "{%q: …}: %v", keyBuffer, err)
	}
	return data[:n], nil
}

func appendBuffer(dst, data []byte) []byte {
	dst = append(dst, `{"`+keyBuffer+`":`...)
	return append(appendBase64(dst, data), '}')
}

func appendBase64(dst, data []byte) []byte {
	dst = append(dst, '"')
	return append(base64.StdEncoding.AppendEncode(dst, data), '"')
}

// Of the JSON below it is known that it is well-formed.

// text is what a string says.
func text(b []byte) string {
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b[1 : len(b)-1])
	}
	var s string
	_ = json.Unmarshal(b, &s) // it was checked
	return s
}

// number says whether a number begins with c.
func number(c byte) bool { return c == '-' || c >= '0' && c <= '9' }

func tooLarge(n, most int) error {
	return unsendable(codec.ErrTooLarge, "%d bytes, limit %d", n, most)
}

// unsendable is what this side was asked to say and does not.
func unsendable(err error, format string, args ...any) error {
	return &codec.FrameError{Err: err, Offset: -1, Detail: fmt.Sprintf(format, args...)}
}
