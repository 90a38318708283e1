package extensions

import "errors"

// ErrNoChannel means that the extensions of a host have no output channel of a name.
var ErrNoChannel = errors.New("no output channel")

// Channel is an output channel that an extension, or the host itself, has written into.
type Channel struct {
	Name      string `json:"name"`
	Extension string `json:"extension"` // the id of the extension; "" for a log of the host itself
}
