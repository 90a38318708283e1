package mpack

// kind is the type of a value, whatever its width.
type kind uint8

const (
	kindInvalid kind = iota // the byte 0xc1
	kindNil
	kindBool
	kindInt
	kindFloat
	kindStr
	kindBin
	kindArray
	kindMap
	kindExt
)

func (k kind) String() string {
	return [...]string{"invalid byte", "nil", "bool", "int", "float", "str", "bin", "array", "map", "ext"}[k]
}

// kinds is the kind of value that each first byte starts.
var kinds = func() (t [256]kind) {
	for c := range t {
		switch {
		case c <= 0x7f || c >= 0xe0 || c >= 0xcc && c <= 0xd3:
			t[c] = kindInt
		case c <= 0x8f || c >= 0xde:
			t[c] = kindMap
		case c <= 0x9f || c >= 0xdc:
			t[c] = kindArray
		case c <= 0xbf || c >= 0xd9:
			t[c] = kindStr
		case c == 0xc0:
			t[c] = kindNil
		case c == 0xc1:
			t[c] = kindInvalid
		case c <= 0xc3:
			t[c] = kindBool
		case c <= 0xc6:
			t[c] = kindBin
		case c == 0xca || c == 0xcb:
			t[c] = kindFloat
		default:
			t[c] = kindExt
		}
	}
	return t
}()
