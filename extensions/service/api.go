package service

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hostsup/hostsup/extensions/activation"
)

// Errors of a [Service]; test with errors.Is. Others are those of package extensions.
// [ActivationError] has details.
var (
	ErrNotActive = errors.New("not active")
	ErrClosed    = errors.New("extensions are no longer looked after")
)

// ActivationError lists the extensions that an event did not activate, with the reasons.
// It matches [ErrNotActive].
type ActivationError struct {
	Event string
	Errs  []*activation.Error
}

func (e *ActivationError) Error() string {
	parts := make([]string, len(e.Errs))
	for i, err := range e.Errs {
		parts[i] = err.Error()
	}
	return fmt.Sprintf("%s: %s", e.Event, strings.Join(parts, "; "))
}

// Unwrap returns [ErrNotActive] and the reasons.
func (e *ActivationError) Unwrap() []error {
	out := []error{ErrNotActive}
	for _, err := range e.Errs {
		out = append(out, err)
	}
	return out
}
