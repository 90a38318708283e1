package throttle

import (
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
	"github.com/hostsup/hostsup/internal/jsonwalk"
)

// JSON looks into params that are JSON. A step of a path is a name, or an index
// of an array from 0. Nothing is decoded but what is found.
//
// A path of one step that leads nowhere is looked for in each member or element
// of the params as well, the first that has it: "uri" finds the uri of
// {"textDocument": {"uri": …}}, and that of the first argument in a list of them.
func JSON(params []byte) Lookup {
	return func(path string) (key string, ok bool) {
		if key, ok = jsonKey(jsonwalk.Find(params, path)); ok || strings.Contains(path, ".") {
			return key, ok
		}
		within := func(v []byte) bool {
			key, ok = jsonKey(jsonwalk.Find(v, path))
			return !ok
		}
		jsonwalk.Array(params, within)
		jsonwalk.Object(params, func(_ string, v []byte) bool { return within(v) })
		return key, ok
	}
}

func jsonKey(found []byte) (string, bool) {
	switch jsonwalk.KindOf(found) {
	case jsonwalk.String:
		return jsonwalk.Text(found), true
	case jsonwalk.Number, jsonwalk.Bool:
		return string(found), true
	}
	return "", false
}

// MessagePack looks into params that are MessagePack, as [JSON] does. Names are
// strings; a key may be a string, an integer or a boolean.
func MessagePack(params []byte) Lookup {
	return func(path string) (string, bool) {
		c := mpack.NewCursor(params, codec.Limits{})
		if key, ok := packKey(&c, path, len(params)); ok || strings.Contains(path, ".") {
			return key, ok
		}
		c.Reset(params)
		n, isMap := 0, c.Peek() == "map"
		switch {
		case isMap:
			n, _ = c.Map()
		case c.Peek() == "array":
			n, _ = c.Array()
		}
		for range n {
			if isMap && !c.Skip() {
				break
			}
			value, ok := c.Value()
			if !ok {
				break
			}
			inner := mpack.NewCursor(value, codec.Limits{})
			if key, ok := packKey(&inner, path, len(value)); ok {
				return key, true
			}
		}
		return "", false
	}
}

// packKey follows a path to a key; size bounds its length.
func packKey(c *mpack.Cursor, path string, size int) (string, bool) {
	for path != "" {
		var step string
		step, path, _ = strings.Cut(path, ".")
		if !enter(c, step) {
			return "", false
		}
	}
	switch c.Peek() {
	case "str":
		s, ok := c.Str(size)
		return string(s), ok
	case "int":
		n, ok := c.Int()
		return strconv.FormatInt(n, 10), ok
	case "bool":
		v, ok := c.Value()
		return strconv.FormatBool(ok && v[0] == 0xc3), ok
	}
	return "", false
}

// enter moves to one value of a map or an array.
func enter(c *mpack.Cursor, step string) bool {
	switch c.Peek() {
	case "map":
		n, ok := c.Map()
		for range n {
			if !ok {
				return false
			}
			if c.Peek() == "str" {
				var name []byte
				if name, ok = c.Str(1 << 20); ok && string(name) == step {
					return true
				}
			} else {
				ok = c.Skip()
			}
			ok = ok && c.Skip()
		}
	case "array":
		at, err := strconv.Atoi(step)
		n, ok := c.Array()
		if err != nil || !ok || at < 0 || at >= n {
			return false
		}
		for range at {
			if !c.Skip() {
				return false
			}
		}
		return true
	}
	return false
}
