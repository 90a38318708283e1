package workbench

import (
	"fmt"

	"github.com/hostsup/hostsup/codec"
	wire "github.com/hostsup/hostsup/codec/vscode"
)

// NotSupported returns the error for an API that this editor does not have, such as
// "window.createWebviewPanel"; why may be "". Extensions get it as an exception with the name
// [wire.NameNotSupported].
func NotSupported(api, why string) error { return wire.NotSupported(api, why) }

// Invalid returns the error for arguments that are wrong.
func Invalid(format string, args ...any) error {
	return &codec.Error{Name: codec.NameInvalidParams, Message: fmt.Sprintf(format, args...)}
}
