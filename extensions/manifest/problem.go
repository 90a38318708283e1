package manifest

import (
	"errors"
	"fmt"

	"github.com/hostsup/hostsup/extensions"
)

// Causes of a [Problem] or [DuplicateError]; test with errors.Is.
var (
	ErrUnreadable   = errors.New("cannot be read")
	ErrTooLarge     = errors.New("too large")
	ErrJSON         = errors.New("not JSON")
	ErrField        = errors.New("wrong field")
	ErrIncompatible = errors.New("made for another editor version")
	ErrDuplicate    = errors.New("extension found twice")
	ErrMessage      = errors.New("message is missing")
)

// Problem is one mistake in a manifest.
type Problem struct {
	File  string // path of the file
	Key   string // dotted path of the field; "" for the file as a whole
	Want  string // the expected content
	Found string // the actual content
	// Warning means that the extension is used nevertheless.
	Warning bool
	Cause   error // one of the sentinels, or wraps one
}

func (p *Problem) Error() string {
	text := p.File
	if p.Key != "" {
		text += ": " + p.Key
	}
	text += ": " + p.Cause.Error()
	if p.Want != "" {
		text += fmt.Sprintf(": %s expected", p.Want)
	}
	if p.Found != "" {
		text += ", found " + p.Found
	}
	return text
}

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Cause }

// DuplicateError is an extension that was found more than once.
type DuplicateError struct {
	ID                          extensions.ID
	Kept, Refused               string // folders
	KeptVersion, RefusedVersion string
	Why                         string
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("%s: %v: %s (%s) is used instead of %s (%s): %s", e.ID, ErrDuplicate, e.Kept, e.KeptVersion, e.Refused, e.RefusedVersion, e.Why)
}

// Unwrap returns ErrDuplicate.
func (e *DuplicateError) Unwrap() error { return ErrDuplicate }
