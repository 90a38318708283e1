package throttle

import (
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
	"github.com/hostsup/hostsup/extensions/internal/jsonwalk"
)

// JSON looks into params that are JSON. A step of a path is a name, or an index
// of an array from 0. Nothing is decoded but what is found.
func JSON(params []byte) Lookup {
	return func(path string) (string, bool) {
		found := jsonwalk.Find(params, path)
		switch jsonwalk.KindOf(found) {
		case jsonwalk.String:
			return jsonwalk.Text(found), true
		case jsonwalk.Number, jsonwalk.Bool:
			return string(found), true
		}
		return "", false
	}
}

// MessagePack looks into params that are MessagePack, as [JSON] does. Names are
// strings; a key may be a string, an integer or a boolean.
func MessagePack(params []byte) Lookup {
	return func(path string) (string, bool) {
		c := mpack.NewCursor(params, codec.Limits{})
		for path != "" {
			var step string
			step, path, _ = strings.Cut(path, ".")
			if !enter(&c, step) {
				return "", false
			}
		}
		switch c.Peek() {
		case "str":
			s, ok := c.Str(len(params))
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
