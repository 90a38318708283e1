package workbench

import (
	"fmt"

	"github.com/hostsup/hostsup/codec"
)

// NameNotSupported is the name of the error for what this editor does not have.
const NameNotSupported = "NotSupported"

// NotSupported returns the error for an API that this editor does not have, such as
// "window.createWebviewPanel"; why may be "". Extensions get it as an exception.
func NotSupported(api, why string) error {
	text := fmt.Sprintf("%s is not supported by this editor, which has no window", api)
	if why != "" {
		text = fmt.Sprintf("%s is not supported: %s", api, why)
	}
	return &codec.Error{Name: NameNotSupported, Message: text}
}

// Invalid returns the error for arguments that are wrong.
func Invalid(format string, args ...any) error {
	return &codec.Error{Name: codec.NameInvalidParams, Message: fmt.Sprintf(format, args...)}
}
