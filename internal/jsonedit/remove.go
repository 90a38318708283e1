package jsonedit

import (
	"bytes"
	"slices"

	"github.com/tailscale/hujson"
)

// Remove returns src without the member at a path, or src itself if there is no such member. The comments
// around the member stay; those within its value go with it. An error is about the syntax of
// src, or wraps [ErrUnsafe].
func Remove(src []byte, path []string) ([]byte, error) {
	src, hasBOM := bytes.CutPrefix(src, bom)
	whole, root, err := parsed(src)
	if err != nil {
		return nil, err
	}
	at := &root
	var obj *hujson.Object
	var member *hujson.ObjectMember
	for _, name := range path {
		var ok bool
		if obj, ok = at.Value.(*hujson.Object); !ok {
			return withBOM(src, hasBOM), nil
		}
		if member, err = memberOf(obj, name); err != nil {
			return nil, err
		}
		if member == nil {
			return withBOM(src, hasBOM), nil
		}
		at = &member.Value
	}
	out, err := verified(whole, without(whole, obj, member), path, func(at map[string]any, name string) { delete(at, name) })
	return withBOM(out, hasBOM), err
}

// without cuts a member out of the text of its object, with a comma, and with its line if
// nothing else is in it.
func without(src []byte, obj *hujson.Object, member *hujson.ObjectMember) []byte {
	i := slices.IndexFunc(obj.Members, func(m hujson.ObjectMember) bool { return m.Name.StartOffset == member.Name.StartOffset })
	from, to := member.Name.StartOffset, member.Value.EndOffset
	last := i == len(obj.Members)-1
	var comma int // of the member before
	switch {
	case !last || member.Value.AfterExtra != nil: // a comma is behind it
		to += len(member.Value.AfterExtra) + 1
	case i > 0:
		before := obj.Members[i-1].Value
		comma = before.EndOffset + len(before.AfterExtra)
	}
	if startsLine(src, from) {
		rest := src[to:]
		if end := bytes.IndexByte(rest, '\n'); end >= 0 && len(bytes.TrimSpace(rest[:end])) == 0 {
			from, to = bytes.LastIndexByte(src[:from], '\n')+1, to+end+1
		}
	} else if to < len(src) && src[to] == ' ' {
		to++
	}
	out := bytes.Clone(src[:from])
	if comma > 0 {
		out = slices.Delete(out, comma, comma+1)
	}
	return append(out, src[to:]...)
}
