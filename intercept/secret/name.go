package secret

import (
	"bytes"
	"fmt"
	"regexp"
	"sync"
)

// Bounds of a value, in bytes. A shorter one could neither be kept secret nor
// be looked for without hitting everything else.
const (
	MinValue = 4
	MaxValue = 16 << 10
)

// IdentityEnv names a path in the environment of the program: of the key that opens
// an encrypted store. Hosts are not given it.
const IdentityEnv = "HOSTSUP_SECRETS_IDENTITY"

// MaxName is the greatest length of a name, in bytes.
const MaxName = 128

var nameRule = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(fmt.Sprintf(`^[A-Za-z0-9][A-Za-z0-9._/:-]{0,%d}$`, MaxName-1))
})

// CheckName says what is wrong with the name of a secret: the error wraps
// [ErrName].
func CheckName(name string) error {
	if nameRule().MatchString(name) {
		return nil
	}
	return fmt.Errorf("%w: %.64q; expected a letter or digit, then letters, digits, '.', '_', '-', '/' or ':', at most %d in all", ErrName, name, MaxName)
}

// CheckValue says why a value cannot be a secret: the error wraps [ErrValue]
// and does not show the value.
func CheckValue(value []byte) error {
	switch {
	case len(value) < MinValue:
		return fmt.Errorf("%w: it has %d bytes; expected at least %d", ErrValue, len(value), MinValue)
	case len(value) > MaxValue:
		return fmt.Errorf("%w: it has %d bytes; expected at most %d", ErrValue, len(value), MaxValue)
	case bytes.IndexByte(value, 0) >= 0:
		return fmt.Errorf("%w: it has a NUL byte, which no environment can hold", ErrValue)
	}
	return nil
}

// Wipe overwrites b with zeros.
func Wipe(b []byte) { clear(b) }
