package stores

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	"github.com/hostsup/hostsup/intercept/secret"
)

// header is the first line of what is encrypted. A line of its own follows for
// each secret: its name, a space, its value in base64. It is kept in bytes
// throughout, which can be wiped.
const header = "hostsup secrets 1\n"

// encode writes secrets as they are encrypted.
func encode(all map[string][]byte) []byte {
	size := len(header)
	for name, v := range all {
		size += len(name) + 2 + base64.StdEncoding.EncodedLen(len(v))
	}
	out := append(make([]byte, 0, size), header...)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(append(out, name...), ' ')
		out = base64.StdEncoding.AppendEncode(out, all[name])
		out = append(out, '\n')
	}
	return out
}

// decode reads what encode wrote. The values are new memory.
func decode(text []byte) (map[string][]byte, error) {
	rest, ok := bytes.CutPrefix(text, []byte(header))
	if !ok {
		return nil, fmt.Errorf("%w: it does not begin with %q", secret.ErrDamaged, header)
	}
	all := make(map[string][]byte)
	for n := 2; len(rest) > 0; n++ {
		line, more, whole := bytes.Cut(rest, []byte{'\n'})
		name, value, two := bytes.Cut(line, []byte{' '})
		if !whole || !two || secret.CheckName(string(name)) != nil || all[string(name)] != nil {
			wipeAll(all)
			return nil, fmt.Errorf("%w: line %d is not a name and a value", secret.ErrDamaged, n)
		}
		v := make([]byte, base64.StdEncoding.DecodedLen(len(value)))
		size, err := base64.StdEncoding.Decode(v, value)
		if err != nil || secret.CheckValue(v[:size]) != nil {
			secret.Wipe(v)
			wipeAll(all)
			return nil, fmt.Errorf("%w: line %d has no value", secret.ErrDamaged, n)
		}
		all[string(name)], rest = v[:size], more
	}
	return all, nil
}

func wipeAll(all map[string][]byte) {
	for _, v := range all {
		secret.Wipe(v)
	}
}
